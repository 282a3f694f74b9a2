import TransferHTTP
import TransferIO
import TransferModel

/// What the connections of one push over HTTP share.
///
/// `@unchecked Sendable`: touched on the run's loop only.
final class HTTPPush: @unchecked Sendable {
    /// What the server can do.
    struct Offer {
        /// Nothing where it speaks no tus.
        let tus: TusOffer?
        /// Whether it takes conflict policies.
        let takesPolicy: Bool
        /// Path that was asked about, or where the server has sent the question.
        let path: String
    }

    let run: RunContext
    let web: WebAddress

    /// Nothing before the server has answered.
    var offer: Offer?

    /// Fired when another connection may find something to do.
    let isReady = Signal()

    /// Whether the server may be asked to say first that it wants content.
    var expectsContinue = true

    /// What was begun and has no report yet.
    private var jobs: [ObjectIdentifier: HTTPJob] = [:]

    init(_ run: RunContext, _ web: WebAddress) {
        (self.run, self.web) = (run, web)
    }

    /// What the client shows to be let in.
    var authorization: String? {
        web.credentials?.authorization ?? run.configuration.token.map { "Bearer \($0)" }
    }

    /// What was begun of an upload.
    func job(of upload: PendingUpload) -> HTTPJob? { jobs[ObjectIdentifier(upload)] }

    func keep(_ job: HTTPJob, for upload: PendingUpload) { jobs[ObjectIdentifier(upload)] = job }

    func end(_ upload: PendingUpload) { jobs[ObjectIdentifier(upload)] = nil }

    func report(_ report: UploadReport) { run.channel.send(.finished(report)) }
}

/// One upload over HTTP, from when it is begun to its report, over however many connections.
///
/// Belongs to the push's loop, and to one connection at a time.
final class HTTPJob {
    enum Machine {
        case tus(TusUpload)
        case put(PutUpload)
    }

    let content: HTTPContent
    var machine: Machine
    /// Where it is kept for a later run; nothing for what begins anew then.
    let place: TusPlace?
    /// What is there.
    var kept: TusPlace.Record?
    /// Answers since the last progress that said that it may help to wait.
    private var waits = 0
    private var backoff = Backoff(first: .milliseconds(250), longest: .seconds(10))
    private var generator = SystemRandomNumberGenerator()

    /// Seconds that a server can make this side wait at once; more is a mistake.
    private static let longestWait: Int64 = 300

    init(_ content: HTTPContent, _ machine: Machine, _ place: TusPlace? = nil) {
        (self.content, self.machine, self.place) = (content, machine, place)
    }

    func progressed() {
        waits = 0
        backoff.reset()
    }

    /// - Parameters:
    ///   - told: seconds, as the server says.
    ///   - most: how often it is waited.
    /// - Returns: how long; nothing when it was often enough.
    func wait(_ told: Int64?, most: Int) -> Interval? {
        guard waits < most else { return nil }
        waits += 1
        let own = backoff.next(using: &generator)
        return told.map { max(own, .milliseconds(min($0, Self.longestWait) * 1000)) } ?? own
    }
}
