/// One way to talk to the server: how its conversations are recognised, and who leads them. It has no state; what one
/// conversation needs is in its session.
protocol FrontEnd: Sendable {
    /// For logs.
    var name: String { get }

    /// What its conversations are called where TLS tells what runs above it (ALPN, RFC 7301), the preferred name first.
    var protocols: [String] { get }

    /// Bytes that decide in any case whether a client means this front end.
    var openingSize: Int { get }

    /// Whether a client that begins like this means this front end. Once it is `yes` or `no`, more bytes don't change it.
    ///
    /// - Parameter opening: the first bytes of a connection, none of them at the beginning.
    func recognise(_ opening: [UInt8]) -> Recognition

    /// Makes the session that has a connection from now on. One that is to be turned away hears why in the words of this
    /// front end.
    func session(for handover: Handover, of core: ServerCore) -> any Session
}

/// What a front end makes of the first bytes of a connection.
enum Recognition: Equatable, Sendable {
    case yes
    case no
    case needsMore
}

/// What may be spoken on a listener.
struct FrontEnds: Sendable {
    /// Answers whoever means none of them.
    let usual: any FrontEnd

    let others: [any FrontEnd]

    init(_ usual: any FrontEnd, _ others: [any FrontEnd] = []) {
        (self.usual, self.others) = (usual, others)
    }

    /// What may run above TLS, the preferred name first.
    var protocols: [String] { usual.protocols + others.flatMap(\.protocols) }
}
