import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel

/// What is made of one request.
extension HTTPWorker {
    func begin(_ request: HTTPRequest) {
        incoming = .ignored
        (hasContinued, hasAllContent) = (false, false)
        peer = request.way.origin.name
        uploads.peer = peer
        // Whatever else there is to say: it may have used its link up.
        if let signIn = request.signIn { return conclude(signIn, of: request) }
        do throws(HTTPRefusal) {
            try checkSession(request)
            if try answerProbe(request) { return }
            if isStopping { throw HTTPRefusal(.serverStopping) }
            if request.way.isMisdirected { throw .misdirected }
            try admit(request.client.admitted())
            try route(request)
        } catch {
            refuse(request, guided(error, request))
        }
    }

    /// Asks what the client may do now.
    func admit(_ client: HTTPRequest.Client) throws(HTTPRefusal) {
        uploads.intake.caller = client.caller
        uploads.intake.accountHolder = client.holder
        if let refusal = uploads.recheck() { throw HTTPRefusal(refusal) }
        self.client = uploads.intake.caller
    }

    private func route(_ request: HTTPRequest) throws(HTTPRefusal) {
        if request.head.method == .options, request.head.resource.utf8.elementsEqual("*".utf8) {
            return reply(request, HTTPReply(204, offer))
        }
        let target = try HTTPTarget(request.head)
        try checkOrigin(request)
        if isSignOut(target) { return try signOut(request) }
        if try answerOwn(request, target) { return }
        if let address = UploadAddress(target) {
            switch address.family {
            case .tus: return try answerTus(request, address, target)
            case .up: return try answerResumable(request, address)
            }
        }
        if request.head.asksForResumption { return try createResumable(request, target) }
        switch request.head.method {
        case .get, .head: try read(request, target)
        case .put: try store(request, target)
        case .post: try storeForm(request, target)
        case .delete: try remove(request, target)
        case .options: reply(request, HTTPReply(204, offer))
        default: throw HTTPRefusal(405, .wrongForm, "This is not done here.", [("Allow", Self.allowed)])
        }
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

    private static let allowed = "GET, HEAD, PUT, POST, DELETE, OPTIONS"

    /// What can be done here.
    private var offer: [(String, String)] {
        [("Allow", Self.allowed), (PutUpload.policiesField, "overwrite, keep-both, skip, fail")] + uploadLimit
    }
}
