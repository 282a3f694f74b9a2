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

/// Answers requests for `/.transfer/events`, the events of stored uploads.
struct EventsHandler: HTTPHandler {
    let context: HTTPContext

    func tell(_ request: HTTPRequest, _ target: HTTPTarget) -> HTTPResponse {
        let last = request.head.fields.values("last-event-id").last.flatMap { EventID($0) }
        return .long(
            HTTPEvents(
                target.path, context.service, context.uploads, last: last, StreamedBody(for: request)))
    }
}

/// The answer to a client that listens to stored uploads: server-sent events (HTML, section 9.2), until one side ends it. It only keeps its
/// place in the list of events, and waits for new ones. Used by one task at a time.
final class HTTPEvents: HTTPAnswer {
    /// Events that are read together.
    private static let atOnce = 64

    /// Most uploads whose progress is sent at once.
    private static let mostRunning = 16

    /// Nanoseconds. `progress`: least time between two reports of progress. `silence`: time after which a comment is sent, so that proxies
    /// see that the connection is used.
    private static let intervals = (progress: Int64(900_000_000), silence: Int64(15_000_000_000))

    /// Milliseconds after which a client should connect again when it has lost the connection.
    private static let retry = 3000

    let path: String
    let endsConnection = true
    let isEndless = true
    private let service: HTTPService
    private let uploads: ConnectionUploads
    private var body: StreamedBody
    private var seen: UInt64
    private var mustReset: Bool
    private var hasBegun = false
    private var text = ""
    private var lastWord = monotonicNanoseconds()
    private var lastProgress: Int64 = .min
    private var shown: [RunningUploads.Upload] = []

    /// - Parameter last: the last event that the client has seen; nil if it states none.
    init(_ path: String, _ service: HTTPService, _ uploads: ConnectionUploads, last: EventID?, _ body: StreamedBody) {
        (self.path, self.service, self.uploads, self.body) = (path, service, uploads, body)
        let news = service.shared.news
        // Events of an earlier server are not known any more.
        mustReset = last.map { $0.epoch != news.epoch || $0.number > news.newest } ?? false
        seen = mustReset ? news.newest : last?.number ?? news.newest
    }

    func head(isLast: Bool) -> [UInt8] {
        let fields = [
            ("Content-Type", "text/event-stream; charset=utf-8"), ("Cache-Control", "no-store"),
            // Tells proxies not to buffer this answer.
            ("X-Accel-Buffering", "no"),
        ]
        return body.head(fields, isLast: isLast)
    }

    var watchesAccess: Bool { true }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        let now = monotonicNanoseconds()
        if !hasBegun { text += "retry: \(Self.retry)\n\n" }
        hasBegun = true
        // Before any event, the client's access is rechecked.
        let mayGoOn = uploads.recheck().refusal == nil && !service.core.intake.isStopping.load(ordering: .relaxed)
        let hasMore = mayGoOn && tellNews()
        if mayGoOn { tellProgress(at: now) }
        if text.isEmpty, now - lastWord >= Self.intervals.silence { text = ":\n\n" }
        flush(&outcome, at: now)
        guard mayGoOn else {
            body.end(&outcome)
            return true
        }
        if !hasMore { outcome.wait(for: service.shared.news, isEndless: true) }
        return false
    }

    func events(peer: String) -> [LogEvent] { [] }

    private func flush(_ outcome: inout HTTPOutcome, at now: Int64) {
        guard !text.isEmpty else { return }
        lastWord = now
        body.write(Array(text.utf8), to: &outcome)
        text = ""
    }

    private func add(_ event: String, _ number: UInt64?, _ data: String) {
        let id = number.map { "id: \(EventID(epoch: service.shared.news.epoch, number: $0).text)\n" } ?? ""
        text += "event: \(event)\n\(id)data: \(data)\n\n"
    }
}

// MARK: Events

extension HTTPEvents {
    private var caller: Caller { uploads.intake.caller }

    /// - Returns: whether there may be more events.
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

    /// The event's data, in the form of `push --json`.
    ///
    /// - Returns: nil if the client may not know of the upload.
    private func document(of item: UploadNews.Item) -> String? {
        guard mayKnow(item.client), let path = caller.clientPath(item.path)?.string else { return nil }
        return UploadDocument(
            source: path, id: caller.outer(item.id), result: .committed, storedPath: path, kind: item.kind,
            size: item.size, digest: item.digest, isDurable: item.isDurable, isReplacing: item.isReplacing,
            seconds: item.seconds
        ).json.text
    }

    private func mayKnow(_ sender: UInt64?) -> Bool {
        caller.grant.options.rights.mayRead || caller.id != nil && caller.id == sender
    }

    /// Adds the progress of the client's own uploads. Clients that the server cannot distinguish count as one client, which gets progress
    /// only if it may read.
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

/// The session's state of an answer that waits for events.
struct EventWatch {
    let signal: any AnswerSignal
    /// Whether more events follow for as long as the client listens.
    let isEndless: Bool
    /// Whether there are events since the answer was last continued.
    var hasNews = false
    /// Whether a timer is set that will continue the answer.
    var isDelayed = false
    /// When the answer was last continued, in nanoseconds of the monotonic clock.
    var lastTold: Int64 = 0
    /// Seconds for which the client has not taken the events.
    var stuck = 0
}

/// Events: the pool continues the answer when there are any. In between, the pool has no job for it, and no thread is held.
extension HTTPSession {
    /// Least nanoseconds between two continuations, so that many uploads at once cause only one continuation.
    private static let tellingInterval: Int64 = 100_000_000

    /// Bytes waiting for the client above which no further events are sent. They stay in `UploadNews` for a while.
    private static let mostUntold = 64 << 10

    /// Seconds after which a client that takes no events is disconnected.
    private static let patience = 30

    /// Time between two checks of the client's access and uploads.
    private static let tick = Interval.seconds(1)

    /// Silence allowed to a client that listens: as good as unlimited.
    private static let silence = Interval.seconds(365 * 86_400)

    /// Waits for events. An endless answer also continues once a second.
    func watch(_ signal: any AnswerSignal, isEndless: Bool, on connection: isolated Connection) {
        guard watching == nil else { return }
        watching = EventWatch(signal: signal, isEndless: isEndless)
        signal.watch(client.number) { [weak connection, bell] in
            if bell.ring() { connection?.start { $0.session.newsCame(on: $0) } }
        }
        guard isEndless else { return }
        watching?.lastTold = monotonicNanoseconds()
        connection.driver.liveness.timeouts.silence = Self.silence
        connection.driver.liveness.timeouts.heartbeat = Self.silence
        connection.armTimer()
        // Events can have arrived while the answer was made.
        watching?.hasNews = true
        scheduleTick(on: connection)
    }

    func unwatch() {
        watching?.signal.leave(client.number)
        watching = nil
    }

    private func newsCame(on connection: isolated Connection) {
        // The answer that waited may be complete by now, or be another one.
        guard let watching, connection.ending == nil else { return bell.heard() }
        guard !watching.isDelayed else { return }
        let next = watching.lastTold + Self.tellingInterval
        guard monotonicNanoseconds() < next else { return tell(on: connection) }
        self.watching?.isDelayed = true
        _ = connection.schedule(at: MonotonicTime(nanoseconds: next)) { connection in
            connection.session.watching?.isDelayed = false
            connection.session.tell(on: connection)
        }
    }

    /// Continues the answer. If the client has not taken enough of the earlier events, the next tick tries again.
    func tell(on connection: isolated Connection) {
        bell.heard()
        guard let watching, connection.ending == nil, !connection.driver.isOver,
            !watching.isEndless || connection.outbound.count < Self.mostUntold
        else { return }
        self.watching?.hasNews = true
        self.watching?.lastTold = monotonicNanoseconds()
        connection.resumeWork()
    }

    private func scheduleTick(on connection: isolated Connection) {
        _ = connection.schedule(at: .now + Self.tick) { $0.session.ticked(on: $0) }
    }

    private func ticked(on connection: isolated Connection) {
        guard let watching, connection.ending == nil, !connection.driver.isOver else { return }
        self.watching?.stuck = connection.hasUnsent ? watching.stuck + 1 : 0
        guard watching.stuck < Self.patience else {
            return connection.end(.lost("the client does not read the events"))
        }
        tell(on: connection)
        scheduleTick(on: connection)
    }
}

/// The ID of an event: the server that sent it, and the event's number.
struct EventID: Equatable, Sendable {
    let epoch: UInt64
    let number: UInt64

    init(epoch: UInt64, number: UInt64) {
        (self.epoch, self.number) = (epoch, number)
    }

    /// - Returns: nil if the text is not the `text` of an ID.
    init?(_ text: some Collection<UInt8>) {
        let parts = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ (1...20).contains($0.count) }),
            // The parser of numbers would accept a sign.
            !text.contains(UInt8(ascii: "+")),
            let epoch = UInt64(String(decoding: parts[0], as: UTF8.self), radix: 16),
            let number = UInt64(String(decoding: parts[1], as: UTF8.self))
        else { return nil }
        self.init(epoch: epoch, number: number)
    }

    var text: String { "\(String(epoch, radix: 16))-\(number)" }
}
