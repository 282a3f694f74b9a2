import TransferIO
import TransferTestSupport

/// A peer's messages after the handshake. Input: steps, each with its kind (1 byte) and an argument (1 byte).
struct PeerWalk {
    /// The bytes that the tested side sends after each step.
    private static let words = [UInt8](repeating: 0x5A, count: 30)

    /// More flights than a handshake has over the wire with the shortest pieces.
    private static let mostFlights = 10_000

    private let end: TLSEnd
    private let peer: RecordPeer
    /// The content that the end must have received, if it continues.
    private var content: [UInt8] = []
    /// The bytes that the end was to send, and those that the peer could read.
    private var said: [UInt8] = []
    private var heard: [UInt8] = []
    /// The rest of a message whose beginning was sent.
    private var rest: ArraySlice<UInt8> = []
    /// Whether all steps so far conform to TLS.
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

    /// Sends a record of content, which may be empty. A library accepts only some empty records in a row, so they do
    /// not count as conforming.
    private mutating func say(_ bytes: [UInt8]) throws(Finding) {
        if bytes.isEmpty || !rest.isEmpty || hasEnded { isLawful = false } else { content += bytes }
        try send(RecordPeer.Kind.content, bytes)
    }

    private mutating func begin(_ message: [UInt8], upTo count: Int) throws(Finding) {
        // Servers accept no tickets, and no message may begin inside another.
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

    /// Lets the end do its work. The peer can read its bytes as long as all steps conform.
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
