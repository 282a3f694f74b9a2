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

    /// Makes the connection with the session of this front end. A client that is to be turned away hears why in the words of this
    /// front end.
    func connection(for handover: Handover, of core: ServerCore) -> any ServedConnection
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

/// Decides which front end a client means: by what both sides agreed on in TLS, or else by the client's first bytes, however
/// these are cut. Neither reads nor waits itself.
///
/// Where there is one front end, or all others are out of the question, nothing is waited for: this side may have to talk
/// first.
struct FrontEndChoice {
    private let frontEnds: FrontEnds

    /// What the client has said first.
    private(set) var opening: [UInt8] = []

    /// Whether it will say no more, or is not waited for any longer.
    private var isComplete = false

    init(_ frontEnds: FrontEnds) {
        self.frontEnds = frontEnds
    }

    /// - Parameter name: of what both sides agreed to run above TLS.
    /// - Returns: nothing where that doesn't decide it.
    func frontEnd(named name: String?) -> (any FrontEnd)? {
        guard let name else { return nil }
        return ([frontEnds.usual] + frontEnds.others).first { $0.protocols.contains(name) }
    }

    /// What the first bytes say.
    ///
    /// - Returns: nothing while more of them are needed.
    var frontEnd: (any FrontEnd)? {
        guard let possible = frontEnds.others.first(where: { recognition($0) != .no }) else { return frontEnds.usual }
        return switch recognition(frontEnds.usual) {
        case .yes: frontEnds.usual
        case .needsMore: nil
        // The ones behind it don't count before this one is out of the question.
        case .no: recognition(possible) == .yes ? possible : nil
        }
    }

    private func recognition(_ frontEnd: any FrontEnd) -> Recognition {
        let recognition = frontEnd.recognise(opening)
        guard recognition == .needsMore else { return recognition }
        return isComplete || opening.count >= frontEnd.openingSize ? .no : .needsMore
    }

    /// Bytes that may be received before it is decided in any case.
    var room: Int {
        let longest = frontEnds.others.map(\.openingSize).reduce(frontEnds.usual.openingSize, max)
        return max(0, longest - opening.count)
    }

    /// What the client has said first, to be kept by somebody else from now on.
    mutating func takeOpening() -> [UInt8] {
        defer { opening = [] }
        return opening
    }

    mutating func received(_ bytes: some Collection<UInt8>) {
        opening += bytes
    }

    /// Nothing more is waited for.
    mutating func complete() {
        isComplete = true
    }
}
