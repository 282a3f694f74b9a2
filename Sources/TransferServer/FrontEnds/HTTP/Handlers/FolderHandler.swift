import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts
import TransferProtocol

/// Lists folders and makes them.
struct FolderHandler: HTTPHandler {
    let context: HTTPContext

    /// Answers GET and HEAD of a folder.
    ///
    /// - Parameter isThere: false for the top folder of a client that has sent nothing yet.
    func list(
        _ request: HTTPRequest, _ target: HTTPTarget, _ place: RelativePath?, isThere: Bool
    ) throws(Failure) -> HTTPResponse {
        // Relative links in a page only work if the folder's path ends with a slash.
        guard target.isFolder || target.path.isEmpty else {
            let query = request.head.resource.utf8.drop { $0 != UInt8(ascii: "?") }
            let location = "/" + PercentEncoding.path(target.path.utf8) + "/" + String(Substring(query))
            return .reply(HTTPReply(301, [("Location", location), ("Cache-Control", "no-cache")]))
        }
        let listing = isThere ? try context.resources.tree.list(place) : nil
        let known = context.resources.intake.known
        known.indexIfNeeded()
        return .long(
            HTTPListing(
                target.path, listing, form(request, target),
                fields: [
                    ("Cache-Control", "private, no-cache"),
                    ("Vary", "Accept, Accept-Language, Cookie, Authorization"),
                    ("Content-Security-Policy", HTTPAnswers.noActiveContent),
                ],
                StreamedBody(for: request), known))
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
                    words: words, maySend: context.caller.grant.options.rights.mayWrite,
                    session: request.session == nil ? nil : context.caller.grant.name))
        }
    }

    /// Answers PUT of a folder. After success the folder exists, durably.
    func make(_ request: HTTPRequest, _ target: HTTPTarget) throws(HTTPRefusal) -> HTTPResponse {
        guard request.body == .none || request.body == .length(0) else {
            throw HTTPRefusal(
                400, .wrongForm, "A folder has no content: put a file to a path without a slash at its end.")
        }
        let seen = context.visiblePath(target.path)
        do throws(HTTPFault) {
            guard try context.conditions(request, on: seen).hold(context.files) else { throw .conditionsFail }
        } catch {
            throw HTTPRefusal(conditions: error)
        }
        // A client that may not read learns nothing about the path from the answer.
        let present = seen.flatMap { context.files.attributes(at: $0) }
        do throws(Failure) {
            guard present?.isDirectory ?? true else {
                throw Failure(.pathConflict, "\(target.path.escapedForDisplay) is a file.")
            }
            let changes = ConnectionChanges(context.resources, context.uploads.trash)
            try changes.make(MakeRequest(.directory, path: target.path), context.caller)
            for result in changes.commit() { _ = try result.get() }
        } catch {
            throw HTTPRefusal(error)
        }
        let location = "/" + PercentEncoding.path(target.path.utf8) + "/"
        return .reply(HTTPReply(present == nil ? 201 : 200, [("Location", location), ("Cache-Control", "no-store")]))
    }
}
