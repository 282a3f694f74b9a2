/// Which operands of a command may contain a server, as in `home:/photos`; see `ServerPlace`. Such an operand replaces
/// the flag for the server, and the command receives only its path.
package enum OperandPlaces: Equatable, Sendable {
    /// No operand; a colon has no meaning.
    case none
    /// The command has at most one operand, which is the server; it is removed from the operands.
    case server
    /// All operands or no operand. They are paths on one server.
    case all
    /// The last operand, which is the target of the others, or no operand. The others are local. The target is removed
    /// from the operands.
    case target
    /// All operands or no operand, followed by an optional local operand: the target, which becomes the value of this
    /// flag.
    case sources(into: Flag)
    /// Any of the operands, all on one server. `ParsedArguments.places` shows the command which of them.
    case any

    /// The paragraph of the help.
    ///
    /// - Parameter flag: the flag that such an operand replaces, as typed.
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
