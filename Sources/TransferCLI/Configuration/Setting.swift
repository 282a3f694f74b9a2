private import TransferModel

/// What a flag was set to, and where.
struct Setting: Equatable, Sendable {
    /// Where a setting was found.
    enum Origin: Equatable, Sendable {
        case commandLine
        /// An operand that names a server; of the command line, too.
        case operand
        /// Of the environment, by its name.
        case variable(String)
        case file(Place)
        /// A remote, by its name.
        case remote(String, Place)
    }

    /// A line of a file.
    struct Place: Equatable, Sendable {
        let path: String
        /// From 1.
        let line: Int
    }

    /// `true` or `false` for a switch. Nothing when the flag was turned off.
    let values: [String]

    let origin: Origin

    static let on = "true"
    static let off = "false"
}

extension Setting.Place: CustomStringConvertible {
    var description: String { "\(path.escapedForDisplay):\(line)" }
}
