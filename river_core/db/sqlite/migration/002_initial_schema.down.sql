DROP TABLE /* TEMPLATE: schema */river_leader;
DROP TABLE /* TEMPLATE: schema */river_job;
