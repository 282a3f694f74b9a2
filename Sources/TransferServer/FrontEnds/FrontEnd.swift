/// The server's side of one wire: how clients of it are recognised, and which session serves them. It has no state; the state of a
/// connection is in its session.
protocol FrontEnd: Sendable {
    /// Name of the protocol in the log.
    var name: String { get }

    /// The protocol's names in TLS (ALPN, RFC 7301), the preferred one first.
    var protocols: [String] { get }

    /// Number of first bytes that always suffice to decide whether a client means this front end.
    var openingSize: Int { get }

    /// Whether a client that begins with these bytes means this front end. Once the answer is `yes` or `no`, more bytes do not change it.
    ///
    /// - Parameter opening: the first bytes of a connection; empty at the beginning.
    func recognise(_ opening: [UInt8]) -> Recognition

    /// Answers clients that do not encrypt where the server demands it; nil to refuse them.
    var unencrypted: (any FrontEnd)? { get }

    /// Makes the connection with the session of this front end. A client that is refused learns the reason in this protocol.
    func connection(for handover: Handover, of core: ServerCore) -> any ServedConnection
}

extension FrontEnd {
    var unencrypted: (any FrontEnd)? { nil }
}

/// Whether the first bytes of a connection belong to a front end.
enum Recognition: Equatable, Sendable {
    case yes
    case no
    case needsMore
}

/// The front ends that a listener offers.
struct FrontEnds: Sendable {
    /// Serves clients that mean none of the front ends.
    let usual: any FrontEnd

    let others: [any FrontEnd]

    init(_ usual: any FrontEnd, _ others: [any FrontEnd] = []) {
        (self.usual, self.others) = (usual, others)
    }

    /// The names to offer in TLS (ALPN), the preferred one first.
    var protocols: [String] { usual.protocols + others.flatMap(\.protocols) }
}

/// Decides which front end a client means: by what both sides agreed on in TLS, or else by the client's first bytes, in whatever pieces
/// they arrive. It neither reads nor waits itself.
///
/// If there is only one front end, or all others are ruled out, it waits for no bytes: the server may have to speak first.
struct FrontEndChoice {
    private let frontEnds: FrontEnds

    /// The first bytes from the client.
    private(set) var opening: [UInt8] = []

    /// Whether the client sends no more bytes, or the server no longer waits for them.
    private var isComplete = false

    init(_ frontEnds: FrontEnds) {
        self.frontEnds = frontEnds
    }

    /// - Parameter name: of the protocol that both sides agreed on in TLS.
    /// - Returns: nil if the name does not decide it.
    func frontEnd(named name: String?) -> (any FrontEnd)? {
        guard let name else { return nil }
        return ([frontEnds.usual] + frontEnds.others).first { $0.protocols.contains(name) }
    }

    /// The front end by the first bytes; nil while more bytes are needed.
    var frontEnd: (any FrontEnd)? {
        guard let possible = frontEnds.others.first(where: { recognition($0) != .no }) else { return frontEnds.usual }
        return switch recognition(frontEnds.usual) {
        case .yes: frontEnds.usual
        case .needsMore: nil
        // The front ends after `possible` count only when it is ruled out.
        case .no: recognition(possible) == .yes ? possible : nil
        }
    }

    private func recognition(_ frontEnd: any FrontEnd) -> Recognition {
        let recognition = frontEnd.recognise(opening)
        guard recognition == .needsMore else { return recognition }
        return isComplete || opening.count >= frontEnd.openingSize ? .no : .needsMore
    }

    /// Most bytes to receive before a decision is certain.
    var room: Int {
        let longest = frontEnds.others.map(\.openingSize).reduce(frontEnds.usual.openingSize, max)
        return max(0, longest - opening.count)
    }

    /// Removes the first bytes and returns them to the caller.
    mutating func takeOpening() -> [UInt8] {
        defer { opening = [] }
        return opening
    }

    mutating func received(_ bytes: some Collection<UInt8>) {
        opening += bytes
    }

    /// Notes that no more bytes are waited for.
    mutating func complete() {
        isComplete = true
    }
}
