-- One database for each service; they share no table.
CREATE DATABASE rail;
CREATE DATABASE gateway;
