import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel
import TransferStore

/// Folders, as clients see them.
extension HTTPWorker {
    func list(
        _ request: HTTPRequest, _ target: HTTPTarget, _ place: RelativePath?, isThere: Bool
    ) throws(Failure) {
        // Links of a page lead from the folder only where its path ends with a slash.
        guard target.isFolder || target.path.isEmpty else {
            let query = request.head.resource.utf8.drop { $0 != UInt8(ascii: "?") }
            let location = "/" + PercentEncoding.path(target.path.utf8) + "/" + String(Substring(query))
            return reply(request, HTTPReply(301, [("Location", location), ("Cache-Control", "no-cache")]))
        }
        let listing = isThere ? try resources.store.list(place) : nil
        resources.intake.known.settleIfNeeded()
        let answer = HTTPListing(
            target.path, listing, form(request, target),
            fields: [
                ("Cache-Control", "private, no-cache"),
                ("Vary", "Accept, Accept-Language, Cookie, Authorization"),
                ("Content-Security-Policy", HTTPAnswers.noActiveContent),
            ],
            isChunked: request.head.version != .http10, resources.intake.known)
        guard request.head.method == .get else { return sayHead(request, of: answer) }
        begin(answer, to: request)
    }

    private func form(_ request: HTTPRequest, _ target: HTTPTarget) -> HTTPListing.Form {
        if target.query.contains("json") { return .json }
        let fields = request.head.fields
        let offers = ["text/html", "application/json", "application/x-ndjson"]
        switch Negotiation.mediaType(fields.values("accept"), of: offers) {
        case "application/json"?: return .json
        case "application/x-ndjson"?: return .lines
        default:
            let words: ListingPage.Words =
                switch Negotiation.language(fields.values("accept-language")) {
                case .english: .english
                case .chinese: .chinese
                }
            return .page(
                ListingPage(
                    words: words, maySend: client.grant.options.rights.mayWrite,
                    session: request.session == nil ? nil : client.grant.name))
        }
    }
}
