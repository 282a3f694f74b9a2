import TransferHTTP
import TransferIntake
import TransferModel

/// What a row of the table is about.
enum HTTPResource: Sendable {
    /// The server as a whole, `*` (RFC 9110, section 9.3.7).
    case server

    /// `/.transfer/NAME`, below the server's own name, which no file can have.
    case own(String)

    /// The same, and all below it.
    case below(String)

    /// A file or folder of the client: whatever is none of the others.
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
    /// Makes the answer, or begins to take the content.
    typealias Handler = @Sendable (HTTPWorker, HTTPRequest, HTTPTarget) throws(HTTPRefusal) -> Void

    let resource: HTTPResource

    /// What the handler answers; nil where it tells methods apart itself, as tus does with a field.
    let methods: [HTTPMethod]?

    /// Whether it is for uploads alone that can be gone on with (draft-ietf-httpbis-resumable-upload).
    let isForResumption: Bool

    let handle: Handler

    init(
        _ resource: HTTPResource, _ methods: [HTTPMethod]? = nil, isForResumption: Bool = false,
        _ handle: @escaping Handler
    ) {
        (self.resource, self.methods) = (resource, methods)
        (self.isForResumption, self.handle) = (isForResumption, handle)
    }

    fileprivate func answers(_ head: RequestHead) -> Bool {
        (methods?.contains(head.method) ?? true) && (!isForResumption || head.asksForResumption)
    }
}

/// Finds what answers a request. A new endpoint is a file with its handler, and a row of `standard`.
struct HTTPRouter: Sendable {
    /// The first row that fits answers.
    let routes: [HTTPRoute]

    /// What this server answers, once the client is admitted. Probes are answered before that (`HTTPProbe`).
    static let standard = HTTPRouter(routes: [
        HTTPRoute(.server, [.options]) { (worker, request, _) in worker.offer(request) },
        HTTPRoute(.own("out"), [.post]) { (worker, request, _) throws(HTTPRefusal) in try worker.signOut(request) },
        HTTPRoute(.own("events"), [.get, .head]) { (worker, request, target) in worker.tellEvents(request, target) },
        HTTPRoute(.below("receipt"), [.get, .head]) { (worker, request, target) throws(HTTPRefusal) in
            try worker.giveReceipt(request, target)
        },
        HTTPRoute(.below("tus")) { (worker, request, target) throws(HTTPRefusal) in
            try worker.answerTus(request, UploadAddress(target, .tus), target)
        },
        HTTPRoute(.below("up")) { (worker, request, target) throws(HTTPRefusal) in
            try worker.answerResumable(request, UploadAddress(target, .up))
        },
        HTTPRoute(.stored, isForResumption: true) { (worker, request, target) throws(HTTPRefusal) in
            try worker.createResumable(request, target)
        },
        HTTPRoute(.stored, [.get, .head]) { (worker, request, target) throws(HTTPRefusal) in
            try worker.read(request, target)
        },
        HTTPRoute(.stored, [.put]) { (worker, request, target) throws(HTTPRefusal) in try worker.store(request, target)
        },
        HTTPRoute(.stored, [.post]) { (worker, request, target) throws(HTTPRefusal) in
            try worker.storeForm(request, target)
        },
        HTTPRoute(.stored, [.delete]) { (worker, request, target) throws(HTTPRefusal) in
            try worker.remove(request, target)
        },
        HTTPRoute(.stored, [.options]) { (worker, request, _) in worker.offer(request) },
    ])

    /// - Parameter target: nil for the server as a whole.
    /// - Throws: 405 with the methods that the resource has (RFC 9110, section 15.5.6).
    /// - Returns: the position of the row that answers.
    func row(for head: RequestHead, _ target: HTTPTarget?) throws(HTTPRefusal) -> Int {
        let isOwn = target == nil || routes.contains { $0.resource.isOwn(target) }
        let rows = routes.indices.lazy.filter {
            isOwn ? routes[$0].resource.isOwn(target) : routes[$0].resource.isStored
        }
        guard let row = rows.first(where: { routes[$0].answers(head) }) else {
            let methods = rows.map { routes[$0] }.filter { !$0.isForResumption }.flatMap { $0.methods ?? [] }
            throw HTTPRefusal(
                405, .wrongForm, "This is not done here.", [("Allow", methods.map(\.name).joined(separator: ", "))])
        }
        return row
    }
}

extension HTTPWorker {
    /// Has a request answered by the handler of its route.
    func route(_ request: HTTPRequest) throws(HTTPRefusal) {
        let head = request.head
        let isOfServer = head.method == .options && head.resource.utf8.elementsEqual("*".utf8)
        let target = isOfServer ? nil : try HTTPTarget(head)
        try checkOrigin(request)
        let router = HTTPRouter.standard
        try router.routes[router.row(for: head, target)].handle(self, request, target ?? .top)
    }

    /// A page of another site must not have a browser write here in its user's name: browsers say whose page it is.
    private func checkOrigin(_ request: HTTPRequest) throws(HTTPRefusal) {
        let head = request.head
        let origins = head.fields.values("origin")
        guard ![.get, .head, .options].contains(head.method), !origins.isEmpty else { return }
        guard origins.count == 1, request.way.isOwn(origins[0], head) else {
            throw HTTPRefusal(403, .forbidden, "A page of another site may not write here.")
        }
    }

    /// Says what can be done with files and folders.
    fileprivate func offer(_ request: HTTPRequest) {
        let fields = [
            ("Allow", "GET, HEAD, PUT, POST, DELETE, OPTIONS"),
            (PutUpload.policiesField, "overwrite, keep-both, skip, fail"),
        ]
        reply(request, HTTPReply(204, fields + uploadLimit))
    }
}
