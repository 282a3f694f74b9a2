import TransferAccess
import TransferHTTP
import TransferIntake
import TransferModel
import TransferStore

/// How the answer to one request is said, at once or piece by piece.
extension HTTPWorker {
    /// Says why a request is not met. Its content is not looked at; where much of it may come, the connection ends with it.
    func refuse(_ request: HTTPRequest, _ refusal: HTTPRefusal) {
        if !refusal.isLogged {
            uploads.events.append(
                .requestFailed(
                    SignInLink.hiding(request.head), Failure(refusal.code, refusal.message), peer: peer,
                    isRepeated: failures.add(refusal.code) > 1))
        }
        say(request, isLast: endsWithRefusal(request)) { isLast in
            if let page = refusal.page {
                return HTTPReply.page(refusal.status, page, refusal.fields).bytes(
                    for: request.head.method, isLast: isLast)
            }
            return HTTPAnswers.problem(
                refusal.status, refusal.code, client.redacted(refusal.message), refusal.fields,
                for: request.head.method,
                isLast: isLast)
        }
    }

    /// Bytes of content that nobody wants and that are read all the same, so that the connection can be used on.
    private static let mostIgnored: UInt64 = 64 << 10

    func endsWithRefusal(_ request: HTTPRequest) -> Bool {
        if hasAllContent { return false }
        return switch request.body {
        case .none: false
        case .length(let length): length > Self.mostIgnored
        case .chunked, .untilClose: true
        }
    }

    func reply(_ request: HTTPRequest, _ reply: HTTPReply) {
        say(request) { isLast in reply.bytes(for: request.head.method, isLast: isLast) }
    }

    /// Whether another request may come behind this one. Whoever waits for a word before his content may send it or not, now that
    /// he has another one: nobody can tell whether what follows is that or a request (RFC 9110, section 10.1.1).
    private func mayGoOn(behind request: HTTPRequest) -> Bool {
        let waits = request.head.expectsContinue && request.body != .none && !hasContinued
        return request.isPersistent && !isStopping && !waits
    }

    /// Says that the content of a request is wanted, to whoever waits for that.
    func sayContinue(to request: HTTPRequest) {
        guard request.head.expectsContinue else { return }
        hasContinued = true
        outcome.append(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
    }

    /// Says all of an answer.
    func say(_ request: HTTPRequest, isLast: Bool = false, _ answer: (Bool) -> [UInt8]) {
        let isLast = isLast || !mayGoOn(behind: request)
        append(confirmed(answer(isLast), for: request, isLast: isLast), to: request)
        answered(isLast: isLast)
    }

    /// A client of HTTP/1.0 has to be told that the connection stays open (RFC 9112, appendix C.2.2).
    private func confirmed(_ head: [UInt8], for request: HTTPRequest?, isLast: Bool) -> [UInt8] {
        let head = request?.session == nil ? head : HTTPAnswers.forgotten(head)
        return request?.head.version == .http10 && !isLast ? HTTPAnswers.keepingOpen(head) : head
    }

    /// Lets an answer begin that is made piece by piece.
    func begin(_ answer: any HTTPAnswer, to request: HTTPRequest) {
        (self.answer, isAnswerLast) = (answer, answer.endsConnection || !mayGoOn(behind: request))
        answering = request
        if answer.headComesFirst { sayHead(of: answer, to: request) }
        // What comes behind it is never looked at.
        if answer.isEndless { (pending, nextStep) = ([], 0) }
    }

    private func sayHead(of answer: any HTTPAnswer, to request: HTTPRequest) {
        append(confirmed(answer.head(isLast: isAnswerLast), for: request, isLast: isAnswerLast), to: request)
    }

    /// - Parameter bytes: the beginning of the answer.
    private func append(_ bytes: [UInt8], to request: HTTPRequest) {
        service.core.observability.metrics.answered(request.head.method, bytes)
        outcome.append(bytes)
    }

    /// The answer to a HEAD: what would be said in front of all that.
    func sayHead(_ request: HTTPRequest, of answer: any HTTPAnswer) {
        say(request, isLast: answer.endsConnection) { isLast in answer.head(isLast: isLast) }
    }

    func goOn(_ answer: any HTTPAnswer) {
        do throws(Failure) {
            guard try answer.fill(&outcome, from: resources.chunks) else { return }
            if let successor = answer.successor, let answering {
                self.answer = nil
                return answering.head.method == .get
                    ? begin(successor, to: answering) : sayHead(answering, of: successor)
            }
            if !answer.headComesFirst, let answering { sayHead(of: answer, to: answering) }
            uploads.events.append(contentsOf: answer.events(peer: peer))
            (self.answer, incoming) = (nil, .ignored)
            answered(isLast: isAnswerLast)
        } catch {
            giveUp(answer, error)
        }
    }

    private func giveUp(_ answer: any HTTPAnswer, _ error: Failure) {
        (self.answer, incoming) = (nil, .ignored)
        if !answer.headComesFirst, let answering { return refuse(answering, HTTPRefusal(error)) }
        // Its beginning has gone out: only that it ends too early can tell the client.
        if let rotten = answer.suspect, error.code == .contentLost { resources.intake.known.add(rotten: rotten) }
        uploads.events.append(
            .requestFailed(answer.path, error, peer: peer, isRepeated: failures.add(error.code) > 1))
        outcome.ending = .broken(error.message)
    }

    /// Whoever has lost his access gets no more of a long answer. An upload that has begun is finished.
    func recheckAnswer() {
        guard let answer, !answer.watchesAccess, case .ignored = incoming, uploads.isAccessOld,
            let refusal = uploads.recheck()
        else { return }
        giveUp(answer, Failure(refusal.code, refusal.message))
    }

    private func answered(isLast: Bool) {
        outcome.answered += 1
        guard isLast else { return }
        isOver = true
        outcome.ending = .said
    }
}
