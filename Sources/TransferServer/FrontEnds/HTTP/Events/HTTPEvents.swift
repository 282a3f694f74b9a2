import Synchronization
import TransferAccess
import TransferConnection
import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferProtocol
import TransferPorts
import TransferSystem

/// `/.transfer/events`.
struct EventsHandler: HTTPHandler {
    let context: HTTPContext

    func tell(_ request: HTTPRequest, _ target: HTTPTarget) -> HTTPResponse {
        let last = request.head.fields.values("last-event-id").last.flatMap { EventID($0) }
        return .long(
            HTTPEvents(
                target.path, context.service, context.uploads, last: last,
                isChunked: request.head.version != .http10))
    }
}

/// The answer to a client that wants to hear of uploads as they are stored: events (HTML, section 9.2), until one of both sides ends it. It holds
/// nothing but its place among the news; when there are none, it rests. Belongs to one task at a time.
final class HTTPEvents: HTTPAnswer {
    /// Events that are looked at together.
    private static let atOnce = 64

    /// Uploads that progress is told of at once.
    private static let mostRunning = 16

    /// Nanoseconds between two words about progress at least, and after which something is said so that everybody between knows that
    /// the connection is used.
    private static let intervals = (progress: Int64(900_000_000), silence: Int64(15_000_000_000))

    /// Milliseconds after which a client comes again that has lost the connection.
    private static let retry = 3000

    let path: String
    let endsConnection = true
    let isEndless = true
    private let service: HTTPService
    private let uploads: ConnectionUploads
    private let isChunked: Bool
    private var seen: UInt64
    private var mustReset: Bool
    private var hasBegun = false
    private var text = ""
    private var lastWord = monotonicNanoseconds()
    private var lastProgress: Int64 = .min
    private var shown: [RunningUploads.Upload] = []

    /// - Parameters:
    ///   - last: the event that the client has seen last, if it says so.
    ///   - isChunked: whether the client knows chunks; otherwise the end of the connection is that of the answer.
    init(_ path: String, _ service: HTTPService, _ uploads: ConnectionUploads, last: EventID?, isChunked: Bool) {
        (self.path, self.service, self.uploads, self.isChunked) = (path, service, uploads, isChunked)
        let news = service.shared.news
        // What there was under another server is not known any more.
        mustReset = last.map { $0.epoch != news.epoch || $0.number > news.newest } ?? false
        seen = mustReset ? news.newest : last?.number ?? news.newest
    }

    func head(isLast: Bool) -> [UInt8] {
        let chunked = isChunked ? [("Transfer-Encoding", "chunked")] : []
        let fields = [
            ("Content-Type", "text/event-stream; charset=utf-8"), ("Cache-Control", "no-store"),
            // Proxies that collect answers before they pass them on know this.
            ("X-Accel-Buffering", "no"),
        ]
        return HTTPAnswers.head(200, fields + chunked, isLast: isLast)
    }

    var watchesAccess: Bool { true }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        let now = monotonicNanoseconds()
        if !hasBegun { text += "retry: \(Self.retry)\n\n" }
        hasBegun = true
        // What the client may see is asked before anything is said.
        let mayGoOn = uploads.recheck().refusal == nil && !service.core.intake.isStopping.load(ordering: .relaxed)
        let hasMore = mayGoOn && tellNews()
        if mayGoOn { tellProgress(at: now) }
        if text.isEmpty, now - lastWord >= Self.intervals.silence { text = ":\n\n" }
        flush(&outcome, at: now)
        guard mayGoOn else {
            if isChunked, let last = ChunkWriter.last() { outcome.append(last) }
            return true
        }
        if !hasMore { outcome.wait() }
        return false
    }

    func events(peer: String) -> [LogEvent] { [] }

    private func flush(_ outcome: inout HTTPOutcome, at now: Int64) {
        guard !text.isEmpty else { return }
        lastWord = now
        let bytes = Array(text.utf8)
        text = ""
        guard isChunked else { return outcome.append(bytes) }
        if let head = ChunkWriter.head(UInt64(bytes.count)) { outcome.append(head + bytes + ChunkWriter.end) }
    }

    private func add(_ event: String, _ number: UInt64?, _ data: String) {
        let id = number.map { "id: \(EventID(epoch: service.shared.news.epoch, number: $0).text)\n" } ?? ""
        text += "event: \(event)\n\(id)data: \(data)\n\n"
    }
}

// MARK: What is told

extension HTTPEvents {
    private var caller: Caller { uploads.intake.caller }

    /// - Returns: whether there may be more.
    private func tellNews() -> Bool {
        let found = service.shared.news.items(after: seen, limit: Self.atOnce)
        if found.isLost || mustReset {
            mustReset = false
            seen = found.newest
            add("reset", seen, "{}")
            return false
        }
        for (number, item) in found.items {
            seen = number
            if let document = document(of: item) { add("committed", number, document) }
        }
        return seen < found.newest
    }

    /// As `push --json` has it.
    ///
    /// - Returns: nil for what the client may not know of.
    private func document(of item: UploadNews.Item) -> String? {
        let stored = item.acknowledgement
        guard mayKnow(item.client), let path = caller.clientPath(stored.path)?.string else { return nil }
        return UploadDocument(
            source: path, id: caller.outer(stored.id), result: stored.code, storedPath: path, kind: stored.kind,
            size: stored.size, digest: stored.digest, isDurable: stored.isDurable,
            isReplacing: stored.replaced == .other, seconds: item.seconds
        ).json.text
    }

    private func mayKnow(_ sender: UInt64?) -> Bool {
        caller.grant.options.rights.mayRead || caller.id != nil && caller.id == sender
    }

    /// How far the client's own uploads are. Those who cannot be told apart are one, which may see all that it has sent.
    private func tellProgress(at now: Int64) {
        guard now - max(lastProgress, 0) >= Self.intervals.progress || lastProgress == .min else { return }
        lastProgress = now
        let own = service.shared.running.present(at: now).filter { upload in
            upload.client == caller.id && (caller.id != nil || caller.grant.options.rights.mayRead)
        }.prefix(Self.mostRunning)
        for upload in own where !shown.contains(upload) {
            guard let path = (try? RelativePath(upload.path)).flatMap(caller.clientPath) else { continue }
            let line: JSONLine = [
                "uploadID": .string(caller.outer(upload.id).description), "path": .string(path.string),
                "received": .integer(upload.received), "size": upload.size.map { .integer($0) } ?? .null,
            ]
            add("progress", nil, line.text)
        }
        shown = Array(own)
    }
}

/// What a session keeps of an answer that goes on when there is something to tell.
struct EventWatch {
    /// Whether something has come since the answer was last worked on.
    var hasNews = false
    /// Whether it will be told at a moment that is set.
    var isDelayed = false
    /// When it was told last, in nanoseconds of the monotonic clock.
    var lastTold: Int64 = 0
    /// Seconds for which the client has not taken what it was told.
    var stuck = 0
}

/// Events, which the pool is asked for when there are any: between, nothing waits there, and no thread is held.
extension HTTPSession {
    /// Nanoseconds between two words: many uploads at once are one.
    private static let tellingInterval: Int64 = 100_000_000

    /// Bytes that may wait for the client before it is told nothing more. What it misses then stays where it is for a while.
    private static let mostUntold = 64 << 10

    /// Seconds after which a client that takes nothing has no more to expect.
    private static let patience = 30

    /// Between two looks at whether the client may still hear, and how far its uploads are.
    private static let tick = Interval.seconds(1)

    /// Silence of a client that listens: it may say nothing for as long as it likes.
    private static let silence = Interval.seconds(365 * 86_400)

    /// The answer rests; it goes on with what is stored from now on, and once a second.
    func watch(on connection: isolated Connection) {
        guard watching == nil else { return }
        watching = EventWatch(lastTold: monotonicNanoseconds())
        connection.driver.liveness.timeouts.silence = Self.silence
        connection.driver.liveness.timeouts.heartbeat = Self.silence
        connection.armTimer()
        worker.steps.service.shared.news.watch(client.number) { [weak connection, bell] in
            if bell.ring() { connection?.start { $0.session.newsCame(on: $0) } }
        }
        // It may have come while the answer was made.
        watching?.hasNews = true
        scheduleTick(on: connection)
    }

    func unwatch() {
        guard watching != nil else { return }
        watching = nil
        worker.steps.service.shared.news.leave(client.number)
    }

    private func newsCame(on connection: isolated Connection) {
        guard let watching, !watching.isDelayed, connection.ending == nil else { return }
        let next = watching.lastTold + Self.tellingInterval
        guard monotonicNanoseconds() < next else { return tell(on: connection) }
        self.watching?.isDelayed = true
        _ = connection.schedule(at: MonotonicTime(nanoseconds: next)) { connection in
            connection.session.watching?.isDelayed = false
            connection.session.tell(on: connection)
        }
    }

    /// Lets the answer go on, unless the client has not taken what it was told: then the next look will.
    func tell(on connection: isolated Connection) {
        bell.heard()
        guard watching != nil, connection.ending == nil, !connection.driver.isOver,
            connection.outbound.count < Self.mostUntold
        else { return }
        watching?.hasNews = true
        watching?.lastTold = monotonicNanoseconds()
        connection.resumeWork()
    }

    private func scheduleTick(on connection: isolated Connection) {
        _ = connection.schedule(at: .now + Self.tick) { $0.session.ticked(on: $0) }
    }

    private func ticked(on connection: isolated Connection) {
        guard let watching, connection.ending == nil, !connection.driver.isOver else { return }
        self.watching?.stuck = connection.hasUnsent ? watching.stuck + 1 : 0
        guard watching.stuck < Self.patience else {
            return connection.end(.lost("the client takes no events"))
        }
        tell(on: connection)
        scheduleTick(on: connection)
    }
}

/// A place among the events of a server, as clients say it: which server it was, and the number of the event.
struct EventID: Equatable, Sendable {
    let epoch: UInt64
    let number: UInt64

    init(epoch: UInt64, number: UInt64) {
        (self.epoch, self.number) = (epoch, number)
    }

    /// - Returns: nil for what `text` does not give.
    init?(_ text: some Collection<UInt8>) {
        let parts = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ (1...20).contains($0.count) }),
            // A sign would be taken for part of a number.
            !text.contains(UInt8(ascii: "+")),
            let epoch = UInt64(String(decoding: parts[0], as: UTF8.self), radix: 16),
            let number = UInt64(String(decoding: parts[1], as: UTF8.self))
        else { return nil }
        self.init(epoch: epoch, number: number)
    }

    var text: String { "\(String(epoch, radix: 16))-\(number)" }
}
