private import TransferModel

/// The value of a flag, and where it was set.
struct Setting: Equatable, Sendable {
    /// The place where a setting was found.
    enum Origin: Equatable, Sendable {
        case commandLine
        /// An operand that names a server.
        case operand
        /// A variable of the environment, by its name.
        case variable(String)
        case file(Place)
        /// A remote, by its name.
        case remote(String, Place)
    }

    /// A line of a file.
    struct Place: Equatable, Sendable {
        let path: String
        /// The number of the line, from 1.
        let line: Int
    }

    /// The values: `true` or `false` for a switch; empty if `--no-FLAG` was given.
    let values: [String]

    let origin: Origin

    static let on = "true"
    static let off = "false"
}

extension Setting.Place: CustomStringConvertible {
    var description: String { "\(path.escapedForDisplay):\(line)" }
}
