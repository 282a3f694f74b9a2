import TransferHTTP
import TransferIO
import TransferModel

/// What the connections of one push over HTTP share.
///
/// `@unchecked Sendable`: used on the run's loop only.
final class HTTPPush: @unchecked Sendable {
    /// What the server supports, as far as it has said.
    struct Offer {
        /// Nil if the server does not support tus.
        let tus: TusOffer?
        /// Whether it accepts conflict policies.
        let takesPolicy: Bool
        /// The path that the client asked about, or to which the server redirected the question.
        let path: String
    }

    let run: RunContext
    let web: WebAddress

    /// Nil until the server has answered.
    var offer: Offer?

    /// Fired when another connection may find something to do.
    let isReady = Signal()

    /// Whether the client may ask with `Expect: 100-continue` whether the server wants content.
    var expectsContinue = true

    /// Uploads that were begun and have no report yet.
    private var jobs: [ObjectIdentifier: HTTPJob] = [:]

    init(_ run: RunContext, _ web: WebAddress) {
        (self.run, self.web) = (run, web)
    }

    /// The value of the `Authorization` field; nil without password and token.
    var authorization: String? {
        web.credentials?.authorization ?? run.configuration.token.map { "Bearer \($0)" }
    }

    /// The job of an upload that was begun.
    func job(of upload: PendingUpload) -> HTTPJob? { jobs[ObjectIdentifier(upload)] }

    func keep(_ job: HTTPJob, for upload: PendingUpload) { jobs[ObjectIdentifier(upload)] = job }

    func end(_ upload: PendingUpload) { jobs[ObjectIdentifier(upload)] = nil }

    func report(_ report: UploadReport) { run.channel.send(.finished(report)) }
}

/// One upload over HTTP, from its beginning to its report, over any number of connections.
///
/// It belongs to the push's loop, and to one connection at a time.
final class HTTPJob {
    enum Machine {
        case tus(TusUpload)
        case put(PutUpload)
    }

    let content: HTTPContent
    var machine: Machine
    /// The file from which a later run resumes the upload; nil if a later run starts it from the beginning.
    let place: TusPlace?
    /// The contents of that file.
    var kept: TusPlace.Record?
    /// The number of answers since the last progress that asked the client to wait.
    private var waits = 0
    private var backoff = Backoff(first: .milliseconds(250), longest: .seconds(10))
    private var generator = SystemRandomNumberGenerator()

    /// The most seconds for which the client waits at the server's request; a server that asks for more is probably
    /// wrong.
    private static let longestWait: Int64 = 300

    init(_ content: HTTPContent, _ machine: Machine, _ place: TusPlace? = nil) {
        (self.content, self.machine, self.place) = (content, machine, place)
    }

    func progressed() {
        waits = 0
        backoff.reset()
    }

    /// - Parameters:
    ///   - told: the seconds that the server asks for; nil if it does not say.
    ///   - most: the most waits since the last progress.
    /// - Returns: how long to wait; nil after too many waits.
    func wait(_ told: Int64?, most: Int) -> Interval? {
        guard waits < most else { return nil }
        waits += 1
        let own = backoff.next(using: &generator)
        return told.map { max(own, .milliseconds(min($0, Self.longestWait) * 1000)) } ?? own
    }
}
