import TransferModel
import TransferProtocol

/// Uploads to look up on the server by their IDs, and the server's answers.
struct UploadLookup {
    private let function: DigestFunction
    /// Begins with the IDs of the next or current question.
    private var waiting: ArraySlice<UploadID>
    private var unanswered: Set<UploadID>

    /// Results of the uploads that the server has acknowledged, by ID.
    private(set) var found: [UploadID: UploadResult] = [:]

    /// - Parameters:
    ///   - ids: none of them may be `none`.
    ///   - function: the digest function of the uploads.
    /// - Returns: nil if `ids` is empty.
    init?(_ ids: [UploadID], _ function: DigestFunction) {
        guard !ids.isEmpty else { return nil }
        unanswered = Set(ids)
        waiting = Array(unanswered)[...]
        self.function = function
    }

    /// The next question, or the current one again if the connection was lost before all of it was answered; nil when
    /// all is answered.
    var question: Lookup? {
        let ids = waiting.prefix(Limits.lookup).filter(unanswered.contains)
        return ids.isEmpty ? nil : Lookup(ids, digest: function)
    }

    mutating func answered(_ result: UploadResult) {
        guard unanswered.remove(result.id) != nil else { return }
        if result.isAcknowledgement { found[result.id] = result }
        goOn()
    }

    mutating func answered(unknown ids: [UploadID]) {
        unanswered.subtract(ids)
        goOn()
    }

    private mutating func goOn() {
        if question == nil { waiting = waiting.dropFirst(Limits.lookup) }
    }
}
