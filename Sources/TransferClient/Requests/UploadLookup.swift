import TransferModel
import TransferProtocol

/// Uploads that the server is asked about by their ids, and what it has said of them.
struct UploadLookup {
    private let function: DigestFunction
    /// The first of these are asked about.
    private var waiting: ArraySlice<UploadID>
    private var unanswered: Set<UploadID>

    /// Those that the server has still, by their ids.
    private(set) var found: [UploadID: UploadResult] = [:]

    /// - Parameters:
    ///   - ids: none of them `none`.
    ///   - function: that their digests were made with.
    /// - Returns: nil where there are no ids.
    init?(_ ids: [UploadID], _ function: DigestFunction) {
        guard !ids.isEmpty else { return nil }
        unanswered = Set(ids)
        waiting = Array(unanswered)[...]
        self.function = function
    }

    /// What is to be asked next, or again where the connection is lost before all of it is answered; nil when all is answered.
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
