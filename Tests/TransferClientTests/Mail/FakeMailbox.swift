import Synchronization
import TransferCodec
import TransferModel
import TransferProtocol
import TransferSystem

@testable import TransferClient

/// A fake server with the mailbox of bob.
final class FakeMailbox: Sendable {
    struct Mail: Sendable {
        var listed: ListedDelivery
        /// Content that the server sends for the mail.
        let content: [UInt8]
    }

    /// The reaction to a request, instead of the usual one.
    enum Course: Equatable, Sendable {
        case usual
        /// The connection ends before an answer.
        case lost
        case answer(ResultCode)
    }

    private struct State {
        var mails: [Mail] = []
        var fetches: [FetchRequest] = []
        var settles: [SettleRequest] = []
        var lists: [MailRequest] = []
        /// Connections that watch the mailbox.
        var watchers: [Wire] = []
        var connections = 0
        /// Result code at the end of lists.
        var listEnd = ResultCode.completed
    }

    private let state = Locked(State())
    private let settling: @Sendable (_ number: Int, SettleRequest) -> Course

    /// Bytes after which a fetch loses its connection, by the number of the fetch.
    private let cuts: [Int: Int]

    /// Whether a delivery arrives in the middle of each list.
    private let arrivesMeanwhile: Bool

    /// - Parameter settling: decides about each settle request, by its number from 0.
    init(
        cuts: [Int: Int] = [:], arrivesMeanwhile: Bool = false,
        settling: @escaping @Sendable (Int, SettleRequest) -> Course = { _, _ in .usual }
    ) {
        (self.cuts, self.arrivesMeanwhile, self.settling) = (cuts, arrivesMeanwhile, settling)
    }

    var fetches: [FetchRequest] { state.withLock { $0.fetches } }
    var settles: [SettleRequest] { state.withLock { $0.settles } }
    var lists: [MailRequest] { state.withLock { $0.lists } }
    var states: [DeliveryState] { state.withLock { $0.mails.map(\.listed.state) } }
    var mails: [Mail] { state.withLock { $0.mails } }

    /// Adds a delivery and notifies the watchers.
    @discardableResult
    func deliver(
        _ name: String, _ content: [UInt8], from person: String = "alice", listed other: [UInt8]? = nil,
        function: DigestFunction = .sha256, note: [UInt8]? = nil, id: UploadID? = nil, digest: Digest? = nil
    ) -> UploadID {
        let listed = other ?? content
        let (id, watchers, number) = state.withLock { state -> (UploadID, [Wire], UInt64) in
            let number = UInt64(state.mails.count) * 2 + 1
            let delivery = ListedDelivery(
                number: number, id: id ?? UploadID(high: 7, low: number), state: .queued, person: person, name: name,
                kind: .file, size: UInt64(listed.count), digest: digest ?? Self.digest(listed, function), queued: 1_000,
                changed: 1_000, note: note)
            state.mails.append(Mail(listed: delivery, content: content))
            return (delivery.id, state.watchers, number)
        }
        tell(watchers, number)
        return id
    }

    /// Changes the state of a delivery and notifies the watchers.
    func change(_ index: Int, to new: DeliveryState) {
        let (watchers, number) = state.withLock { state in
            state.mails[index].listed.state = new
            return (state.watchers, state.mails.map(\.listed.number).max() ?? 0)
        }
        tell(watchers, number)
    }

    /// Removes all but the first deliveries, as a server does that was restored from a backup.
    func goBack(to count: Int) {
        let (watchers, number) = state.withLock { state in
            state.mails.removeLast(state.mails.count - count)
            return (state.watchers, state.mails.map(\.listed.number).max() ?? 0)
        }
        tell(watchers, number)
    }

    private func tell(_ watchers: [Wire], _ number: UInt64) {
        var frame: [UInt8] = []
        Message.arrived(number).encode(into: &frame)
        for wire in watchers { wire.send(frame) }
    }

    static func digest(_ content: [UInt8], _ function: DigestFunction = .xxh128) -> Digest {
        let digester = ContentDigester(function)
        content.withUnsafeBytes { digester.update($0) { _, _ in } }
        return digester.finish().digest
    }

    /// A fake server for at most eight connections.
    var server: FakeServer {
        let serve: @Sendable (FakeServer.Peer) -> Void = { self.serve($0) }
        return FakeServer(serve, serve, serve, serve, serve, serve, serve, serve)
    }

    /// The key that the server claims. Without TLS it has no proof.
    static let key = [UInt8](repeating: 9, count: 32)

    func serve(_ peer: FakeServer.Peer) {
        peer.welcome(Welcome(serverKey: Self.key, features: [.files, .mail]))
        defer { state.withLock { $0.watchers.removeAll { $0 === peer.wire } } }
        while let arrival = peer.next() {
            guard case .message(let message) = arrival, answer(message, peer) else { break }
        }
        peer.wire.cut()
    }

    /// - Returns: whether the connection goes on.
    private func answer(_ message: Message, _ peer: FakeServer.Peer) -> Bool {
        switch message {
        case .ping(let token): peer.send(.pong(token))
        case .people(let people):
            let persons = people.isAboutItself ? [Self.bob] : [Self.bob, Self.alice]
            peer.send(
                .persons(Persons(id: people.id, persons)), .outcome(Ending(id: people.id, code: .completed, count: 2)))
        case .mail(let mail): list(mail, peer)
        case .fetch(let fetch): return send(fetch, peer)
        case .settle(let settle): return take(settle, peer)
        default: break
        }
        return true
    }

    private static let bob = ListedPerson("bob", isHere: true, takesFromClient: true, isClient: true)
    private static let alice = ListedPerson("alice", isHere: false, takesFromClient: false, isUnproven: true)

    private func list(_ mail: MailRequest, _ peer: FakeServer.Peer) {
        let (found, end) = state.withLock { state in
            state.lists.append(mail)
            if mail.watches, !state.watchers.contains(where: { $0 === peer.wire }) { state.watchers.append(peer.wire) }
            let found = state.mails.map(\.listed).filter {
                $0.number > mail.after && (mail.box == .sent || $0.state.isOpen)
            }
            return (state.listEnd == .completed ? found : [], state.listEnd)
        }
        for start in stride(from: 0, to: found.count, by: 50) {
            peer.send(.deliveries(Deliveries(id: mail.id, Array(found[start..<min(start + 50, found.count)]))))
            if arrivesMeanwhile, let last = found.last { peer.send(.arrived(last.number)) }
        }
        peer.send(.outcome(Ending(id: mail.id, code: end, count: UInt64(found.count))))
    }

    /// Makes all later lists empty and end with this code.
    func endLists(with code: ResultCode) { state.withLock { $0.listEnd = code } }

    private func send(_ fetch: FetchRequest, _ peer: FakeServer.Peer) -> Bool {
        let (found, number) = state.withLock { state in
            state.fetches.append(fetch)
            return (state.mails.first { $0.listed.id == fetch.delivery }, state.fetches.count - 1)
        }
        guard let found, fetch.path.isEmpty else {
            peer.send(.outcome(Ending(id: fetch.id, code: .notFound)))
            return true
        }
        let version = FileVersion(high: 1, low: found.listed.id.low)
        let offset = fetch.version == version ? Int(fetch.offset) : 0
        peer.send(
            .file(
                FetchedFile(
                    id: fetch.id, permissions: 0o755, size: UInt64(found.content.count),
                    modified: Timestamp(seconds: 1, nanoseconds: 0), version: version, offset: UInt64(offset))))
        let end = fetch.length.map { min(offset + Int($0), found.content.count) } ?? found.content.count
        return stream(found.content, offset..<end, fetch, peer, cut: cuts[number])
    }

    /// - Parameter cut: bytes after which the connection is lost.
    private func stream(
        _ content: [UInt8], _ range: Range<Int>, _ fetch: FetchRequest, _ peer: FakeServer.Peer, cut: Int?
    ) -> Bool {
        let digester = ContentDigester(fetch.digest)
        var frames: [UInt8] = []
        if fetch.length == nil { content[..<range.lowerBound].withUnsafeBytes { digester.update($0) { _, _ in } } }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let next = min(offset + 256 << 10, range.upperBound)
            FrameHeader(.data, bodyLength: next - offset).encode(into: &frames)
            frames += content[offset..<next]
            content[offset..<next].withUnsafeBytes { bytes in
                digester.update(bytes) { index, digest in
                    let place = fetch.length == nil ? index : index + UInt64(range.lowerBound / Limits.blockSize)
                    Message.block(BlockDigest(index: place, digest: Digest(fetch.digest.plain, digest))).encode(
                        into: &frames)
                }
            }
            offset = next
            if let cut, offset - range.lowerBound >= cut {
                peer.wire.send(frames)
                return false
            }
        }
        let size = fetch.length == nil ? content.count : range.count
        Message.end(End(size: UInt64(size), digest: digester.finish().digest)).encode(into: &frames)
        return peer.wire.send(frames)
    }

    private func take(_ settle: SettleRequest, _ peer: FakeServer.Peer) -> Bool {
        let number = state.withLock { state in
            state.settles.append(settle)
            return state.settles.count - 1
        }
        switch settling(number, settle) {
        case .lost: return false
        case .answer(let code): peer.send(.outcome(Ending(id: settle.id, code: code, message: "It is \(code).")))
        case .usual:
            let areThere = state.withLock { state in
                let indices = settle.deliveries.map { id in state.mails.firstIndex { $0.listed.id == id } }
                guard !indices.contains(nil) else { return false }
                for case let index? in indices {
                    state.mails[index].listed.state = settle.verdict == .delivered ? .delivered : .declined
                }
                return true
            }
            peer.send(
                .outcome(
                    Ending(
                        id: settle.id, code: areThere ? .completed : .notFound, count: UInt64(settle.deliveries.count)))
            )
        }
        return true
    }
}

/// All events of one receive.
struct Received {
    var reports: [ReceiveReport] = []
    var found: [Delivery] = []
    var reconnects = 0
    /// People whose keys were seen for the first time.
    var met: [String] = []
    var failure: TransferFailure?

    init(
        from mailbox: FakeMailbox, to directory: String, _ options: ReceiveOptions = ReceiveOptions(),
        _ change: (inout ClientConfiguration) -> Void = { _ in }, each: (ReceiveEvent) -> Bool = { _ in true }
    ) async throws {
        let server = mailbox.server
        defer { server.stop() }
        let client = try TransferClient(server: server.address, configuration: .plain(change))
        do throws(TransferFailure) {
            let events = client.receive(to: directory, options)
            for try await event in events {
                switch event {
                case .finished(let report): reports.append(report)
                case .found(let delivery): found.append(delivery)
                case .reconnecting: reconnects += 1
                case .met(let name, let key): met.append("\(name) \(key)")
                case .connected, .progress: break
                }
                if !each(event) { events.cancel() }
            }
        } catch {
            failure = error
        }
    }

    /// Results by the name that the server lists.
    var results: [String: ResultCode] {
        Dictionary(reports.map { ($0.delivery.name, $0.result) }) { first, _ in first }
    }

    /// Seals of stored deliveries, by their shown names.
    var seals: [String: DeliverySeal?] {
        Dictionary(reports.filter { $0.path != nil }.map { ($0.delivery.shownName, $0.seal) }) { first, _ in first }
    }

    var states: [String: DeliveryState] {
        Dictionary(reports.map { ($0.delivery.name, $0.state) }) { first, _ in first }
    }
}

extension [Delivery] {
    /// Proofs that the content of each delivery was received.
    var verified: [VerifiedDelivery] {
        compactMap { VerifiedDelivery($0, size: $0.size, computed: $0.digest, isOpened: $0.isSealed) }
    }
}
