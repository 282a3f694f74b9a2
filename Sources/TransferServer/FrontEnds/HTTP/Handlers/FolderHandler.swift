import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel
import TransferPorts
import TransferProtocol

/// Lists folders and makes them.
struct FolderHandler: HTTPHandler {
    let context: HTTPContext

    private static let fields = [
        ("Cache-Control", "private, no-cache"), ("Vary", "Accept, Accept-Language, Cookie, Authorization"),
        ("Content-Security-Policy", HTTPAnswers.noActiveContent),
    ]

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
        if isForPage(request, target) { return .reply(shell(request, target)) }
        let known = context.resources.intake.known
        known.indexIfNeeded()
        if isThere, let answer = try below(request, target, place) { return .long(answer) }
        let listing = isThere ? try context.resources.tree.list(place) : nil
        let pictures = PictureDescriptions(of: context.service.core, learns: target.query.contains("pictures"))
        return .long(
            HTTPListing(
                target.path, listing, form(request, target), fields: Self.fields, StreamedBody(for: request), known,
                pictures: pictures))
    }

    /// The page of a folder for a client that may send and not read.
    ///
    /// - Returns: nil if the client does not want a page.
    func offerSending(_ request: HTTPRequest, _ target: HTTPTarget) -> HTTPReply? {
        let rights = context.caller.grant.options.rights
        guard !rights.mayRead, rights.mayWrite, target.isFolder || target.path.isEmpty, request.head.wantsPage else {
            return nil
        }
        guard target.query.contains(PageShell.tableQuery) else { return shell(request, target) }
        return HTTPReply(
            200, Self.fields, table(request, isForced: true).withoutEntries(target.path), type: SmallPage.type)
    }

    private func isForPage(_ request: HTTPRequest, _ target: HTTPTarget) -> Bool {
        let others = ["json", PageShell.tableQuery, "find", "size"]
        return !others.contains(where: target.query.contains) && request.head.wantsPage
    }

    private func shell(_ request: HTTPRequest, _ target: HTTPTarget) -> HTTPReply {
        PageShell(
            language: request.head.language, path: target.path, grant: context.caller.grant,
            hasSession: request.session != nil, trashes: context.resources.trashes
        ).reply
    }

    /// The answer about everything below the folder, if the query asks for that: `?find=TEXT` or `?size`.
    private func below(
        _ request: HTTPRequest, _ target: HTTPTarget, _ place: RelativePath?
    ) throws(Failure) -> (any HTTPAnswer)? {
        let tree = context.resources.tree
        if let text = try? target.query.only("find"), !text.isEmpty {
            return HTTPSearch(
                target.path, for: text, try FolderWalk(place, in: tree), StreamedBody(for: request), context)
        }
        guard target.query.contains("size") else { return nil }
        return HTTPFolderSize(target.path, try FolderWalk(place, in: tree), StreamedBody(for: request))
    }

    private func form(_ request: HTTPRequest, _ target: HTTPTarget) -> HTTPListing.Form {
        if target.query.contains("json") { return .json }
        let offers = ["text/html", "application/json", "application/x-ndjson"]
        switch Negotiation.mediaType(request.head.fields.values("accept"), of: offers) {
        case "application/json"?: return .json
        case "application/x-ndjson"?: return .lines
        default: return .page(table(request, isForced: target.query.contains(PageShell.tableQuery)))
        }
    }

    private func table(_ request: HTTPRequest, isForced: Bool) -> ListingPage {
        let words: ListingPage.Words =
            switch request.head.language {
            case .english: .english
            case .chinese: .chinese
            case .german: .german
            }
        let grant = context.caller.grant
        return ListingPage(
            words: words, maySend: grant.options.rights.mayWrite, isForced: isForced,
            session: request.session == nil ? nil : grant.name)
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
