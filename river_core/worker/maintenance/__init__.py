"""What the leader does for everybody: promote due jobs, rescue stuck ones, delete what is old."""
