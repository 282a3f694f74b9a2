import TransferHTTP
import TransferIntake
import TransferModel

/// The resources that a route answers for.
enum HTTPResource: Sendable {
    /// The server as a whole, `*` (RFC 9110, section 9.3.7).
    case server

    /// `/.transfer/NAME`, below the reserved name that no file can have.
    case own(String)

    /// `/.transfer/NAME`, and all paths below it.
    case below(String)

    /// A file or folder of the client: every path that no other resource has.
    case stored

    /// - Parameter target: nil for the server as a whole.
    fileprivate func isOwn(_ target: HTTPTarget?) -> Bool {
        guard let target else { return isServer }
        // Few paths are the server's own.
        guard target.path.utf8.first == UInt8(ascii: ".") else { return false }
        switch self {
        case .server, .stored: return false
        case .own(let name): return !target.isFolder && target.path.hasSameBytes(as: Self.path(name))
        case .below(let name):
            let path = Self.path(name)
            return target.path.hasSameBytes(as: path) || target.path.utf8.starts(with: (path + "/").utf8)
        }
    }

    fileprivate var isStored: Bool { if case .stored = self { true } else { false } }

    private var isServer: Bool { if case .server = self { true } else { false } }

    private static func path(_ name: String) -> String { "\(RelativePath.reservedName)/\(name)" }
}

/// A row of the table: which requests a handler answers.
struct HTTPRoute: Sendable {
    let resource: HTTPResource

    /// The methods that the handler answers; nil if it distinguishes methods itself, as tus does by a field.
    let methods: [HTTPMethod]?

    /// Whether the row is for resumable uploads only (draft-ietf-httpbis-resumable-upload).
    let isForResumption: Bool

    /// Answers a request, or begins to take its content.
    let handle: @Sendable (HTTPContext, HTTPRequest, HTTPTarget) throws(HTTPRefusal) -> HTTPResponse

    /// - Parameter handle: a method of a handler, such as `FileHandler.read`.
    init<Handler: HTTPHandler>(
        _ resource: HTTPResource, _ methods: [HTTPMethod]? = nil, isForResumption: Bool = false,
        by handle: @escaping @Sendable (Handler) -> (HTTPRequest, HTTPTarget) throws(HTTPRefusal) -> HTTPResponse
    ) {
        (self.resource, self.methods, self.isForResumption) = (resource, methods, isForResumption)
        self.handle = { (context, request, target) throws(HTTPRefusal) in
            try handle(Handler(context: context))(request, target)
        }
    }

    fileprivate func answers(_ head: RequestHead) -> Bool {
        (methods?.contains(head.method) ?? true) && (!isForResumption || head.asksForResumption)
    }
}

/// Finds the handler of a request. A new endpoint needs a file with its handler, and a row in `standard`.
struct HTTPRouter: Sendable {
    /// The rows of the table. The first one that fits a request answers it.
    let routes: [HTTPRoute]

    /// The routes for admitted clients. Probes are answered before clients are admitted (`ProbeHandler`).
    static let standard = HTTPRouter(routes: [
        HTTPRoute(.server, [.options], by: OptionsHandler.offer),
        HTTPRoute(.own("out"), [.post], by: SignInHandler.signOut),
        HTTPRoute(.own("events"), [.get, .head], by: EventsHandler.tell),
        HTTPRoute(.own("changes"), [.post], by: ChangesHandler.make),
        HTTPRoute(.own("known"), [.post], by: KnownHandler.compare),
        HTTPRoute(.below("trash"), [.get, .head], by: TrashHandler.list),
        HTTPRoute(.below("receipt"), [.get, .head], by: ReceiptHandler.give),
        HTTPRoute(.below("thumb"), [.get, .head], by: ThumbnailHandler.give),
        HTTPRoute(.below("details"), [.get, .head], by: DetailsHandler.give),
        HTTPRoute(.below("tus"), by: TusHandler.answer),
        HTTPRoute(.below("up"), by: ResumableHandler.answer),
        HTTPRoute(.stored, isForResumption: true, by: ResumableHandler.create),
        HTTPRoute(.stored, [.get, .head], by: FileHandler.read),
        HTTPRoute(.stored, [.put], by: PutHandler.store),
        HTTPRoute(.stored, [.post], by: FormHandler.store),
        HTTPRoute(.stored, [.delete], by: FileHandler.remove),
        HTTPRoute(.stored, [.options], by: OptionsHandler.offer),
    ])

    /// Lets the handler of the request's route answer.
    func answer(_ request: HTTPRequest, _ context: HTTPContext) throws(HTTPRefusal) -> HTTPResponse {
        let head = request.head
        let isOfServer = head.method == .options && head.resource.utf8.elementsEqual("*".utf8)
        let target = isOfServer ? nil : try HTTPTarget(head)
        try Self.checkOrigin(request)
        return try routes[row(for: head, target)].handle(context, request, target ?? .top)
    }

    /// Refuses writing requests from pages of other sites: such a page must not make a browser change files in its
    /// user's name. Browsers state the page's origin.
    private static func checkOrigin(_ request: HTTPRequest) throws(HTTPRefusal) {
        let head = request.head
        let origins = head.fields.values("origin")
        guard ![.get, .head, .options].contains(head.method), !origins.isEmpty else { return }
        guard origins.count == 1, request.way.isOwn(origins[0], head) else {
            throw HTTPRefusal(403, .forbidden, "A page of another site must not write here.")
        }
    }

    /// - Parameter target: nil for the server as a whole.
    /// - Throws: 405 with the methods that the resource has (RFC 9110, section 15.5.6).
    /// - Returns: the index of the row that answers.
    func row(for head: RequestHead, _ target: HTTPTarget?) throws(HTTPRefusal) -> Int {
        let isOwn = target == nil || routes.contains { $0.resource.isOwn(target) }
        let rows = routes.indices.lazy.filter {
            isOwn ? routes[$0].resource.isOwn(target) : routes[$0].resource.isStored
        }
        guard let row = rows.first(where: { routes[$0].answers(head) }) else {
            let methods = rows.map { routes[$0] }.filter { !$0.isForResumption }.flatMap { $0.methods ?? [] }
            throw HTTPRefusal(
                405, .wrongForm, "This path does not support the method.",
                [("Allow", methods.map(\.name).joined(separator: ", "))])
        }
        return row
    }
}

/// Says what can be done with files and folders (OPTIONS).
struct OptionsHandler: HTTPHandler {
    let context: HTTPContext

    func offer(_ request: HTTPRequest, _ target: HTTPTarget) -> HTTPResponse {
        let fields = [
            ("Allow", "GET, HEAD, PUT, POST, DELETE, OPTIONS"),
            (PutUpload.policiesField, "overwrite, keep-both, skip, fail"),
        ]
        return .reply(HTTPReply(204, fields + context.uploadLimit))
    }
}
