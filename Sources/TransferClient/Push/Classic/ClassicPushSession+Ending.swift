import TransferClassic
import TransferConnection
import TransferIO
import TransferModel
import TransferProtocol

/// How uploads end, with or without an answer.
extension ClassicPushSession {
    func report(_ report: UploadReport) { run.channel.send(.finished(report)) }

    /// Takes the server's verdict on the upload under way.
    func take(_ verdict: ClassicVerdict) {
        guard let current else { return }
        self.current = nil
        hasProgressed = true
        report(UploadReport(current.upload, verdict, sha256: current.sha256))
        if current.end == nil { takeBack("The server refused it.") }
        watch()
        news.fire()
    }

    /// In a framing without answers, ends the upload when the connection has taken its last byte.
    func settleUnanswered() {
        guard !target.client.isAnswered, let current, hasLeft(current) else { return }
        self.current = nil
        hasProgressed = true
        unanswered = current.upload
        news.fire()
    }

    /// Reports an upload that was sent in a framing without answers, with the remark that the server has made since.
    func reportUnanswered() {
        guard let upload = unanswered else { return }
        unanswered = nil
        report(.failed(upload, .unanswered(remark)))
        remark = nil
    }

    /// Whether the connection has taken the last byte of an upload, so that the server may have all of it.
    private func hasLeft(_ current: Current) -> Bool {
        guard let end = current.end else { return false }
        return taken >= end
    }

    /// When the connection has ended, reports the uploads that have no report, or puts them back into the feed.
    func settle() {
        if case .lost(let reason) = ending, !hasPeerEnded, let upload = unanswered {
            unanswered = nil
            report(.failed(upload, .doubtful("the connection broke: \(reason)")))
        }
        reportUnanswered()
        guard let current else { return }
        self.current = nil
        guard !hasLeft(current) else { return report(.failed(current.upload, .doubtful(reason))) }
        switch ending {
        case .lost where current.source.isRepeatable, .cancelled where current.source.isRepeatable:
            run.feed.putBack([current.upload])
        case .cancelled: report(.failed(current.upload, .stopped))
        case .fault(let fault):
            report(
                .failed(current.upload, Failure(.malformedFrame, "Not stored: \(fault.message)")))
        default: report(.failed(current.upload, .connectionLost))
        }
    }

    private var reason: String {
        switch ending {
        case .lost(let reason): reason
        case .fault(let fault): fault.message
        case .cancelled: "the push was stopped"
        default: "the connection ended"
        }
    }
}
