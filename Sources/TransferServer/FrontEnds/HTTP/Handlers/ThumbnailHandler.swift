import TransferGallery
import TransferHTTP
import TransferIO
import TransferIntake
import TransferModel
import TransferPorts

/// Answers `/.transfer/thumb/PATH?s=SIDE`: a small picture of a stored one, for clients that may read it.
struct ThumbnailHandler: HTTPHandler {
    let context: HTTPContext

    func give(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        guard let gallery = context.service.core.gallery else {
            throw HTTPRefusal(404, .notFound, "This server makes no thumbnails.")
        }
        let side = try side(target)
        do throws(Failure) {
            let place = try context.caller.pathForReading(target.path(below: "thumb"))
            guard let place, !target.isFolder else { throw .notFound(place) }
            let question = try PictureQuestion(at: place, context.files)
            let named = try? target.query.only("v")
            let isLasting = question.digest.map { named?.hasSameBytes(as: $0.description) ?? false } ?? false
            if let report = gallery.find(question.key, side) {
                return .reply(HTTPReply(report, isLasting: isLasting))
            }
            let ticket = try question.order(side, gallery, for: context.uploads.intake.accountHolder)
            return .long(HTTPThumbnail(target.path, ticket, isLasting: isLasting, method: request.head.method))
        } catch {
            throw HTTPRefusal(error)
        }
    }

    private func side(_ target: HTTPTarget) throws(HTTPRefusal) -> ThumbnailSide {
        do throws(HTTPFault) {
            guard let text = try target.query.only("s") else { return .small }
            if let side = ThumbnailSide.allCases.first(where: { "\($0.rawValue)".hasSameBytes(as: text) }) {
                return side
            }
        } catch {
            throw HTTPRefusal(error)
        }
        throw HTTPRefusal(400, .malformedFrame, "A thumbnail has 320 or 1280 pixels: ?s=320 or ?s=1280.")
    }
}

/// The answer to a request for a thumbnail that has to be made. Used by one task at a time.
final class HTTPThumbnail: HTTPAnswer {
    let path: String
    let headComesFirst = false
    private let ticket: ThumbnailTicket
    private let isLasting: Bool
    private let method: HTTPMethod
    private var reply: HTTPReply?

    init(_ path: String, _ ticket: ThumbnailTicket, isLasting: Bool, method: HTTPMethod) {
        (self.path, self.ticket, self.isLasting, self.method) = (path, ticket, isLasting, method)
    }

    /// The whole answer: it is short.
    func head(isLast: Bool) -> [UInt8] { reply?.bytes(for: method, isLast: isLast) ?? [] }

    func fill(_ outcome: inout HTTPOutcome, from pool: BufferPool) throws(Failure) -> Bool {
        switch ticket.outcome {
        case nil:
            outcome.wait(for: ticket)
            return false
        case .report(let report)?:
            reply = HTTPReply(report, isLasting: isLasting)
            return true
        case .unavailable(let reason)?: throw Failure(.busy, reason)
        }
    }

    func events(peer: String) -> [LogEvent] { [] }
}

extension ThumbnailTicket: AnswerSignal {}

extension HTTPReply {
    /// 404 if there is no thumbnail. The log does not tell that: browsers ask for every file that may be a picture.
    ///
    /// - Parameter isLasting: whether the address names the content, so that it will always give this thumbnail.
    fileprivate init(_ report: PictureReport, isLasting: Bool) {
        guard let thumbnail = report.thumbnail else {
            let details = ProblemDetails(404, .notFound, (report.refusal ?? .failed).message)
            self.init(404, [("Cache-Control", "no-store")], details.bytes, type: ProblemDetails.contentType)
            return
        }
        self.init(
            200,
            [
                ("Cache-Control", isLasting ? "private, max-age=31536000, immutable" : "private, no-cache"),
                ("Content-Security-Policy", HTTPAnswers.sandbox), ("Vary", "Cookie, Authorization"),
            ], thumbnail, type: "image/webp")
    }
}
