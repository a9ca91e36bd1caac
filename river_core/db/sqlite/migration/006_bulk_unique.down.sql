-- All jobs are lost: below this version there is no table that could hold them.
DROP TABLE /* TEMPLATE: schema */river_job;

CREATE TABLE /* TEMPLATE: schema */river_job (
    id INTEGER PRIMARY KEY
);
