import TransferModel
import TransferProtocol
import TransferSystem

/// What the server has found out about a stored picture by decoding it.
public struct PictureCheck: Sendable, Equatable {
    /// Whether the picture is sound.
    public enum Verdict: Sendable {
        /// All pixels could be decoded.
        case whole
        /// The picture is cut off, damaged, or no picture at all.
        case damaged
        /// The server cannot decode the picture; `reason` says why.
        case undecodable
        /// The server was not asked or did not answer; `reason` says why.
        case unanswered
    }

    /// What the server has found out about the pixels.
    public let verdict: Verdict

    /// A sentence; nil for a picture that is whole.
    public let reason: String?

    /// `jpeg`, `png`, `gif`, `webp`, `heif` or `avif`; nil if it is not known.
    public internal(set) var format: String?

    /// Pixels in a row as the picture is shown; nil if they are not known.
    public internal(set) var width: Int?

    /// Rows as the picture is shown; nil if they are not known.
    public internal(set) var height: Int?

    /// Local time at the camera as in ISO 8601 without an offset; nil if the picture does not say it.
    public internal(set) var taken: String?

    init(_ verdict: Verdict, _ reason: String? = nil) { (self.verdict, self.reason) = (verdict, reason) }

    /// A check that was not made.
    ///
    /// - Parameter reason: a sentence.
    public static func unanswered(_ reason: String) -> PictureCheck { PictureCheck(.unanswered, reason) }
}

extension PictureCheck {
    /// Most bytes of a text that a server says about a picture.
    private static let mostText = 128

    /// Reads what the server says; the picture can have made it up.
    init(_ text: String) {
        let node = try? JSONReader.read(Array(text.utf8), deepest: 1, mostValues: 32)
        let refusal = Self.text(node?["refusal"])
        switch (refusal, node?["decoded"]) {
        case (nil, .bool(true)?): self.init(.whole)
        case (nil, .bool(false)?):
            self.init(.damaged, "The picture is cut off or damaged: only a part of it can be decoded.")
        case ("damaged"?, _): self.init(.damaged, "The picture is damaged: none of it can be decoded.")
        case ("notPicture"?, _): self.init(.damaged, "The content is not that of a picture.")
        case ("unsupported"?, _): self.init(.undecodable, "The server has no decoder for this format.")
        case ("tooLarge"?, _): self.init(.undecodable, "The picture is too large for the server to decode.")
        default: self.init(.undecodable, "The server could not decode the picture.")
        }
        (format, taken) = (Self.text(node?["format"]), Self.text(node?["taken"]))
        (width, height) = (Self.number(node?["width"]), Self.number(node?["height"]))
    }

    private static func text(_ node: JSONNode?) -> String? {
        guard case .string(let text)? = node, text.utf8.count <= mostText else { return nil }
        return text
    }

    private static func number(_ node: JSONNode?) -> Int? {
        guard case .number(let text)? = node else { return nil }
        return Int(text)
    }
}

/// Takes the answer to a question about one picture.
final class PictureTaker: AnswerTaker {
    /// Seconds for which a picture is asked about while the server is busy, and the first pause, which doubles.
    fileprivate static let (patience, firstPause) = (60.0, 0.1)

    private let place: Int
    private let path: String
    private let digest: Digest?
    private let queue: RequestQueue
    private let events: EventQueue<(place: Int, check: PictureCheck)>
    private let state = Locked(State())

    fileprivate struct State {
        var entry: ListedEntry?
        /// Seconds of the next pause, and of all before.
        var (pause, waited) = (PictureTaker.firstPause, 0.0)
    }

    /// - Parameters:
    ///   - place: goes with the check, so that its receiver knows which picture it is about.
    ///   - digest: of the content that the check has to be about; nil for any.
    init(
        _ place: Int, _ path: String, _ digest: Digest?, _ queue: RequestQueue,
        _ events: EventQueue<(place: Int, check: PictureCheck)>
    ) {
        (self.place, self.path, self.digest, self.queue, self.events) = (place, path, digest, queue, events)
    }

    /// The request whose answer this taker takes.
    var asked: PendingRequest {
        PendingRequest(.list(ListRequest(path: path, isAboutItself: true, wantsPicture: true)), self)
    }

    func take(_ entries: [ListedEntry]) -> Taken {
        if let first = entries.first { state.withLock { $0.entry = first } }
        return .wanted
    }

    func end(_ outcome: Outcome) {
        if outcome.code == .busy, let pause = state.withLock({ $0.nextPause }) {
            Task {
                try? await Task.sleep(for: .seconds(pause))
                queue.again(asked)
            }
            return
        }
        let found = state.withLock { $0.entry?.digest }
        let check: PictureCheck
        if outcome.code != .completed {
            check = .unanswered(outcome.message.isEmpty ? "The server answered \(outcome.code)." : outcome.message)
        } else if let digest, found.map({ $0.algorithm == digest.algorithm && $0 != digest }) ?? true {
            check = .unanswered("Other content is stored under its name by now.")
        } else {
            check = PictureCheck(outcome.picture)
        }
        events.send((place, check))
        queue.answered()
    }

    func lost() { queue.again(asked) }
}

extension PictureTaker.State {
    /// Nil if the server has been busy for too long.
    fileprivate var nextPause: Double? {
        mutating get {
            guard waited < PictureTaker.patience else { return nil }
            defer { (waited, pause) = (waited + pause, pause * 2) }
            return pause
        }
    }
}
