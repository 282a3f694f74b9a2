internal import TransferClient
private import TransferModel

/// A command that was stopped in its work. One line is what whoever has stopped it reads: what it has come to, and how to go on.
struct StoppedWork: Sendable {
    /// What it was at: `push`.
    let name: String

    /// What is counted, one of it and several.
    var nouns = (one: "file", many: "files")

    /// What has become of these: `acknowledged`.
    var done = "here"
    var files = 0
    var bytes: UInt64 = 0

    /// Changes that are done beside these.
    var others = 0

    /// Whether nothing was to be changed.
    var isPreview = false

    /// Whether the same command goes on.
    var canGoOn = true

    init(_ name: String) { self.name = name }

    /// A failure in the words of this work, where it is that it was stopped.
    func named(_ failure: TransferFailure) -> TransferFailure {
        guard failure.reason == .cancelled else { return failure }
        return TransferFailure(reason: .cancelled, message: "The \(name) was stopped.")
    }

    /// - Parameters:
    ///   - start: a sentence that says so, where that is not the usual one.
    ///   - rest: what there is beside, as a part of a sentence.
    ///   - command: that of this process.
    func line(_ start: String? = nil, rest: String = "", repeating command: RepeatedCommand = RepeatedCommand())
        -> String
    {
        let start = start ?? "The \(name) was stopped."
        guard !isPreview else { return "\(start) Nothing was changed." }
        let wayOn = command.line().map { "to go on: \($0)" } ?? "the same command goes on from there."
        return "\(start) \(whatIsDone)\(rest)" + (canGoOn ? "; \(wayOn)" : ".")
    }

    private var whatIsDone: String {
        guard files > 0 || others == 0 else { return "\(others) \(others == 1 ? "change is" : "changes are") done" }
        let size = ByteFormat.size(bytes)
        let what =
            files == 0
            ? "Nothing is" : files == 1 ? "1 \(nouns.one) (\(size)) is" : "\(files) \(nouns.many) (\(size)) are"
        guard others > 0 else { return "\(what) \(done)" }
        return "\(what) \(done), and \(others) other \(others == 1 ? "change is" : "changes are") done"
    }
}
