package import TransferModel

/// The meaning of the server's answers.
extension TusUpload {
    /// Interprets the answer to the latest request.
    ///
    /// - Parameter resolve: resolves a `Location`.
    package mutating func take(
        _ head: ResponseHead, resolve: ([UInt8]) -> Result<String, Failure>
    ) -> UploadVerdict {
        switch state {
        case .creating(let piece): created(head, piece, resolve)
        case .sending(let piece): sent(head, piece)
        case .asking: told(head)
        case .fresh, .unsure, .ready, .over: Self.fault("The server sent an answer without a request.")
        }
    }

    /// Records that the answer came before the whole piece was sent, so that the server cannot have the rest of it.
    /// Must be called before `take`.
    ///
    /// - Parameter count: bytes of the piece that were sent.
    package mutating func cut(to count: UInt64) {
        let rest = Piece(count: count, isLast: false, checksum: nil)
        switch state {
        case .sending: state = .sending(rest)
        case .creating(_?): state = .creating(rest)
        case .fresh, .creating, .unsure, .asking, .ready, .over: return
        }
        sent = max(sentBefore, offset.addingClamped(count))
    }

    /// Records that the connection was lost before the answer came.
    ///
    /// - Parameter isAllSent: whether the kernel had taken the whole request.
    /// - Returns: the failure if the client cannot find out what the server has; nil if it can ask.
    package mutating func lost(isAllSent: Bool) -> Failure? {
        switch state {
        case .creating(let piece):
            state = .fresh
            guard piece != nil, isAllSent else { return nil }
            state = .over
            return Failure(.unacknowledged, "The connection was lost before the answer came.")
        case .sending(let piece):
            if isAllSent, piece.isLast { hasAllLeft = true }
            state = .unsure
        case .asking: state = .unsure
        case .fresh, .unsure, .ready, .over: break
        }
        return nil
    }

    private mutating func created(
        _ head: ResponseHead, _ piece: Piece?, _ resolve: ([UInt8]) -> Result<String, Failure>
    ) -> UploadVerdict {
        guard head.status == 201 else {
            state = .fresh
            if head.status == 404 || head.status == 410 {
                return .failed(Failure(.notFound, "The server does not accept tus uploads at \(endpoint)."))
            }
            return .other(head, doing: "the creation of the upload")
        }
        guard let reference = head.fields.values("location").first else {
            return end(Self.fault("The server created an upload without a Location."))
        }
        switch resolve(reference) {
        case .failure(let fault): return end(.failed(fault))
        case .success(let target): location = target
        }
        if let piece {
            if piece.isLast { hasAllLeft = true }
            guard head.fields.has("upload-offset") else {
                state = .unsure
                return .goOn
            }
        }
        return reached(head.fields.has("upload-offset") ? Self.offset(head) : .success(0))
    }

    private mutating func sent(_ head: ResponseHead, _ piece: Piece) -> UploadVerdict {
        switch head.status {
        case 200, 204:
            if piece.isLast { (hasAllLeft, isLengthTold) = (true, true) }
            return reached(Self.offset(head))
        case 404, 410: return gone(head)
        case 409:
            state = .unsure
            return .wait(Failure(.contentMismatch, "The server has another part of the upload than it reported."), nil)
        case 460:
            state = .unsure
            return .wait(Failure(.digestMismatch, "The content that arrived at the server had another digest."), nil)
        default: return unanswered(head, "PATCH")
        }
    }

    private mutating func told(_ head: ResponseHead) -> UploadVerdict {
        switch head.status {
        case 200, 204:
            if let length, let told = try? UploadNumber.length(head.fields) {
                guard told == length else {
                    if isFromEarlierRun { return gone(head) }
                    return end(Self.fault("The server has another length of the upload than the client sent."))
                }
                isLengthTold = true
            }
            return reached(Self.offset(head))
        case 404, 410: return gone(head)
        // The earlier run used another account, or the URL now belongs to another upload.
        case 403 where isFromEarlierRun: return gone(head)
        default: return unanswered(head, "HEAD")
        }
    }

    /// Handles an unexpected answer. The upload may continue later from the server's offset.
    private mutating func unanswered(_ head: ResponseHead, _ what: String) -> UploadVerdict {
        let verdict = UploadVerdict.other(head, doing: what)
        if case .wait = verdict { state = .unsure } else { state = .over }
        return verdict
    }

    private mutating func reached(_ told: Result<UInt64, Failure>) -> UploadVerdict {
        let now: UInt64
        switch told {
        case .failure(let fault): return end(.failed(fault))
        case .success(let offset): now = offset
        }
        guard now >= offset else {
            return end(Self.fault("The server has \(now) bytes of the upload, and reported \(offset) before."))
        }
        guard now <= sent else {
            return end(Self.fault("The server reports \(now) bytes, but only \(sent) were sent."))
        }
        let hasStood = now == offset && state.isMoving
        offset = now
        if now == length, isLengthTold { return end(.complete) }
        state = .ready
        guard !hasStood else { return .wait(Failure(.busy, "The server accepts no more of the upload."), nil) }
        return .goOn
    }

    /// Handles the answer that the server no longer has the upload.
    private mutating func gone(_ head: ResponseHead) -> UploadVerdict {
        guard !hasAllLeft else {
            return end(
                .failed(
                    Failure(
                        .unacknowledged,
                        "All of it was sent, and then the server answered \(head.statusText): it is "
                            + "not known whether it is stored."))
            )
        }
        guard beginnings < Self.mostBeginnings else {
            return end(.failed(Failure(.incomplete, "The server has lost the upload \(beginnings) times.")))
        }
        state = .fresh
        return .anew(
            isFromEarlierRun
                ? "The server has lost the part that an earlier run had sent"
                : "The server has lost its part of the upload, \(offset) bytes")
    }

    private mutating func end(_ verdict: UploadVerdict) -> UploadVerdict {
        state = .over
        return verdict
    }

    private static func offset(_ head: ResponseHead) -> Result<UInt64, Failure> {
        guard let offset = try? UploadNumber.offset(head.fields) else {
            return .failure(Failure(.malformedFrame, "The server did not say how much of the upload it has."))
        }
        return .success(offset)
    }

    private static func fault(_ message: String) -> UploadVerdict { .failed(Failure(.malformedFrame, message)) }
}
