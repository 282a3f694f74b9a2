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
            "An operand may name the server, in place of \(flag): NAME: for a remote, HOST:, HOST:PORT: or "
                + "transfer://HOST[:PORT], with a folder behind it where that means something."
        case .target:
            "The last operand may say where to send to, in place of \(flag): \(Self.forms) \(Self.escape)"
        case .sources:
            "An operand may name the server itself, in place of \(flag): \(Self.forms) Then a last operand that names none is "
                + "the place here. \(Self.escape)"
        case .all: "An operand may name the server itself, in place of \(flag): \(Self.forms)"
        case .any: "An operand may name the server itself, in place of \(flag): \(Self.forms) \(Self.escape)"
        }
    }

    private static let forms =
        "NAME:/PATH for a remote, HOST:/PATH, HOST:PORT:/PATH or transfer://HOST[:PORT]/PATH. NAME:PATH is the same as "
        + "NAME:/PATH, unless PATH begins with a number, which is a port."

    private static let escape =
        "As with scp, what has a colon before any slash is on a server: for a file here of such a name write ./NAME."
}
