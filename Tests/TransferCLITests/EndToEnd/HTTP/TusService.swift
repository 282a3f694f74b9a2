import TransferCodec
import TransferHTTP
import TransferModel
import TransferSystem

/// A small tus 1.0.0 server that keeps uploads in memory and misbehaves on request.
final class TusService: HTTPService {
    struct Upload {
        var bytes: [UInt8] = []
        var length: Int?
        var metadata: UploadMetadata?

        var isComplete: Bool { length == bytes.count }
    }

    private struct State {
        var uploads: [Upload?] = []
        /// Answers that replace the next answers to a method; an answer of nil cuts the connection.
        var instead: [(method: String, answer: @Sendable (HTTPServer.Request) -> HTTPServer.Answer?)] = []
        var heads: [RequestHead] = []
        var early: HTTPServer.Answer?
    }

    private let extensions: String
    private let algorithm: String?
    /// The prefix of every `Location` that the server sends.
    private let place: String
    private let state = Locked(State())

    init(_ extensions: String = "creation", algorithm: String? = nil, place: String = "/files/") {
        (self.extensions, self.algorithm, self.place) = (extensions, algorithm, place)
    }

    /// The uploads that are not forgotten.
    var uploads: [Upload] { state.withLock { $0.uploads.compactMap(\.self) } }

    /// The heads of all requests.
    var heads: [RequestHead] { state.withLock { $0.heads } }

    /// Replaces the answer to the next request with that method.
    func instead(of method: String, _ answer: @escaping @Sendable (HTTPServer.Request) -> HTTPServer.Answer?) {
        state.withLock { $0.instead.append((method, answer)) }
    }

    /// Answers the next PATCH before its content has arrived.
    func beEarly(_ answer: HTTPServer.Answer) { state.withLock { $0.early = answer } }

    func early(_ head: RequestHead) -> HTTPServer.Answer? {
        guard head.method == .patch else { return nil }
        return state.withLock { state in
            defer { state.early = nil }
            return state.early
        }
    }

    /// Forgets all uploads, like a server without a disk that starts again.
    func forget() { state.withLock { $0.uploads = $0.uploads.map { _ in nil } } }

    func answer(_ request: HTTPServer.Request) -> HTTPServer.Answer? {
        let instead = state.withLock { state in
            state.heads.append(request.head)
            let place = state.instead.firstIndex { $0.method == request.head.method.name }
            return place.map { state.instead.remove(at: $0).answer }
        }
        if let instead { return instead(request) }
        return usual(request)
    }

    /// Answers a request without any misbehaviour.
    func usual(_ request: HTTPServer.Request) -> HTTPServer.Answer {
        var answer =
            switch request.head.method {
            case .options: HTTPServer.Answer(204, offer)
            case .post: create(request)
            case .head: tell(request)
            case .patch: append(request)
            default: HTTPServer.Answer(405)
            }
        answer.fields.append(("Tus-Resumable", "1.0.0"))
        return answer
    }

    private var offer: [(String, String)] {
        [("Tus-Version", "1.0.0"), ("Tus-Extension", extensions)]
            + (algorithm.map { [("Tus-Checksum-Algorithm", $0)] } ?? [])
    }

    /// The server keeps the bytes of a PATCH that was cut off.
    func cut(_ request: HTTPServer.Request) {
        guard request.head.method == .patch, request["upload-checksum"] == nil else { return }
        _ = append(request)
    }

    private func create(_ request: HTTPServer.Request) -> HTTPServer.Answer {
        var upload = Upload()
        upload.length = request["upload-length"].flatMap { Int($0) }
        guard upload.length != nil || request["upload-defer-length"] == "1" else { return HTTPServer.Answer(400) }
        upload.metadata = request["upload-metadata"].flatMap { try? UploadMetadata($0) }
        guard isGood(request) else { return HTTPServer.Answer(460) }
        upload.bytes = request.body
        let made = upload
        let number = state.withLock { state in
            state.uploads.append(made)
            return state.uploads.count - 1
        }
        return HTTPServer.Answer(
            201, [("Location", "\(place)\(number)"), ("Upload-Offset", "\(request.body.count)")])
    }

    private func number(_ request: HTTPServer.Request) -> Int? {
        request.head.target.split(separator: "/").last.flatMap { Int($0) }
    }

    private func tell(_ request: HTTPServer.Request) -> HTTPServer.Answer {
        state.withLock { state in
            guard let number = number(request), state.uploads.indices.contains(number),
                let upload = state.uploads[number]
            else { return HTTPServer.Answer(404) }
            let length = upload.length.map { [("Upload-Length", "\($0)")] } ?? [("Upload-Defer-Length", "1")]
            return HTTPServer.Answer(200, [("Upload-Offset", "\(upload.bytes.count)")] + length)
        }
    }

    private func append(_ request: HTTPServer.Request) -> HTTPServer.Answer {
        guard isGood(request) else { return HTTPServer.Answer(460) }
        return state.withLock { state in
            guard let number = number(request), state.uploads.indices.contains(number),
                var upload = state.uploads[number]
            else { return HTTPServer.Answer(404) }
            guard request["upload-offset"] == "\(upload.bytes.count)" else { return HTTPServer.Answer(409) }
            upload.bytes += request.body
            if let length = request["upload-length"] { upload.length = Int(length) }
            state.uploads[number] = upload
            return HTTPServer.Answer(204, [("Upload-Offset", "\(upload.bytes.count)")])
        }
    }

    private func isGood(_ request: HTTPServer.Request) -> Bool {
        guard let text = request["upload-checksum"] else { return true }
        guard let checksum = try? UploadChecksum(text), checksum.algorithm == algorithm else { return false }
        return request.body.withUnsafeBytes { bytes in
            let own = algorithm == "sha1" ? ChecksumHasher.digest(.sha1, bytes) : BlockHasher.digest(.sha256, bytes)
            return own == checksum.digest
        }
    }
}
