/// Which operands of a command may name a server themselves, as in `home:/photos`; see `ServerPlace`. Such an operand stands
/// for the flag that asks for a server, and the command finds nothing but its path in the place of it.
package enum OperandPlaces: Equatable, Sendable {
    /// None: a colon means nothing.
    case none
    /// One at most, which is the server itself, and no operand any more.
    case server
    /// All or none: paths on one server.
    case all
    /// The last one, or none: where the others go, which are here. It is no operand any more.
    case target
    /// All or none, but that behind them there may be one that is here: where they go. It is the value of this flag.
    case sources(into: Flag)
    /// Any of them, on one server; the command asks which: `ParsedArguments.places`.
    case any

    /// What the help says of it.
    ///
    /// - Parameter flag: as it is typed, the one that such an operand stands for.
    func note(_ flag: String) -> String? {
        switch self {
        case .none: nil
        case .server:
            "An operand can name the server instead of \(flag): NAME: for a remote, HOST:, HOST:PORT: or "
                + "transfer://HOST[:PORT], followed by a folder where that makes sense."
        case .target:
            "The last operand can name the target instead of \(flag): \(Self.forms) \(Self.escape)"
        case .sources:
            "Operands can name the server instead of \(flag): \(Self.forms) A last operand that names no "
                + "server is then the local target. \(Self.escape)"
        case .all: "Operands can name the server instead of \(flag): \(Self.forms)"
        case .any: "Operands can name the server instead of \(flag): \(Self.forms) \(Self.escape)"
        }
    }

    private static let forms =
        "NAME:/PATH for a remote, HOST:/PATH, HOST:PORT:/PATH or transfer://HOST[:PORT]/PATH. NAME:PATH "
        + "means NAME:/PATH, unless PATH begins with a number, which is taken as a port."

    private static let escape =
        "As with scp, an operand with a colon before its first slash is remote; for a local file with "
        + "such a name write ./NAME."
}
