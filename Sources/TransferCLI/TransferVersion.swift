/// The version of the program, by semver.org.
let transferVersion = "0.1.0"
