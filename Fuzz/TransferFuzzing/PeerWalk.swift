import TransferIO
import TransferTestSupport

/// What a peer says behind the handshake. Input: steps, each what to say (1 byte) and how much of it or what (1 byte).
struct PeerWalk {
    /// What the side under test says after each step.
    private static let words = [UInt8](repeating: 0x5A, count: 30)

    /// More flights than a handshake has over the wire with the shortest pieces.
    private static let mostFlights = 10_000

    private let end: TLSEnd
    private let peer: RecordPeer
    /// What the end must have received, if it goes on.
    private var content: [UInt8] = []
    /// What it was to say, and what could be read of it.
    private var said: [UInt8] = []
    private var heard: [UInt8] = []
    /// The rest of a message whose beginning was said.
    private var rest: ArraySlice<UInt8> = []
    /// All so far is what TLS allows.
    private var isLawful = true
    private var hasEnded = false

    static func run(isServer: Bool, _ input: inout FuzzInput, most: Int) throws(Finding) {
        var walk = try PeerWalk(isServer: isServer, most: most)
        try walk.shake()
        while !input.isEmpty { try walk.step(input.byte(), input.byte()) }
        try walk.finish()
    }

    private init(isServer: Bool, most: Int) throws(Finding) {
        end = try isServer ? TLSTarget.serverEnd([], most: most) : TLSTarget.clientEnd([], most: most)
        end.endsWhenDone = false
        do {
            peer = try RecordPeer(isServer ? .client : .server)
        } catch {
            throw Finding("A peer cannot be made: \(error).")
        }
    }

    private mutating func shake() throws(Finding) {
        for _ in 0..<Self.mostFlights where !(end.isEstablished && peer.isEstablished) {
            end.deliver(try spoken { try peer.shake([]) })
            end.run()
            let flight = end.collect()
            end.deliver(try spoken { try peer.shake(flight) })
            end.run()
        }
        try require(
            end.isEstablished && peer.isEstablished, "An honest handshake fails: \(String(describing: end.error)).")
        try exchange()
    }

    private func spoken<T>(_ body: () throws -> T) throws(Finding) -> T {
        do {
            return try body()
        } catch {
            throw Finding("The peer fails: \(error).")
        }
    }

    private mutating func step(_ what: UInt8, _ argument: UInt8) throws(Finding) {
        switch what % 8 {
        case 0: try say([UInt8](repeating: 0xA5, count: Int(argument) * 64))
        case 1: try begin(HandshakeMessage.keyUpdate(isRequested: argument & 1 == 1), upTo: 5)
        case 2: try begin(HandshakeMessage.keyUpdate(isRequested: argument & 1 == 1), upTo: Int(argument >> 1) % 5)
        case 3: try begin(HandshakeMessage.ticket(Int(argument)), upTo: .max)
        case 4: try begin(HandshakeMessage.ticket(Int(argument) * 100), upTo: Int(argument))
        case 5: try goOn()
        case 6: try warn(argument)
        default: try sayAnything(argument)
        }
        said += Self.words
        end.say(Self.words)
        try exchange()
    }

    /// An empty record too; of those a library takes only some in a row, so they are no part of what is lawful.
    private mutating func say(_ bytes: [UInt8]) throws(Finding) {
        if bytes.isEmpty || !rest.isEmpty || hasEnded { isLawful = false } else { content += bytes }
        try send(RecordPeer.Kind.content, bytes)
    }

    private mutating func begin(_ message: [UInt8], upTo count: Int) throws(Finding) {
        // Servers take no tickets, and nothing begins inside something else.
        if !rest.isEmpty || message.first == HandshakeMessage.newSessionTicket { isLawful = false }
        try send(RecordPeer.Kind.handshake, message.prefix(count))
        rest = message.dropFirst(count)
        if count == 0 { isLawful = false }
        if rest.isEmpty, message.first == HandshakeMessage.keyUpdate { peer.renew() }
    }

    private mutating func goOn() throws(Finding) {
        guard !rest.isEmpty else { return }
        let isUpdate = rest.count < 5
        try send(RecordPeer.Kind.handshake, rest)
        rest = []
        if isUpdate { peer.renew() }
    }

    private mutating func warn(_ kind: UInt8) throws(Finding) {
        if kind != 0 || !rest.isEmpty { isLawful = false }
        hasEnded = true
        try send(RecordPeer.Kind.alert, [1, kind])
    }

    private mutating func sayAnything(_ kind: UInt8) throws(Finding) {
        isLawful = false
        guard kind & 1 == 1 else { return try send(kind, [kind]) }
        try send(RecordPeer.Kind.handshake, HandshakeMessage.message(kind, [kind]))
    }

    private func send(_ kind: UInt8, _ bytes: some Collection<UInt8>) throws(Finding) {
        end.deliver(try spoken { try peer.seal(kind, bytes) })
    }

    /// Lets the end do what it can. What it says can be read as long as all is lawful.
    private mutating func exchange() throws(Finding) {
        for _ in 0..<Self.mostFlights {
            end.run()
            let flight = end.collect()
            guard !flight.isEmpty else { break }
            if isLawful { heard += try spoken { try peer.content(flight) } }
        }
        try require(content.starts(with: end.received) || !isLawful, "The end has received what nobody said.")
    }

    private mutating func finish() throws(Finding) {
        end.cut()
        try exchange()
        guard isLawful, rest.isEmpty else { return }
        try require(end.received == content, "\(end.received.count) of \(content.count) bytes came.")
        try require(heard == said, "\(heard.count) of \(said.count) bytes were said.")
        try require(end.isClosed == hasEnded, "An end is taken for another one: \(String(describing: end.error)).")
    }
}
