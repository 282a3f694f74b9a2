import TransferClassic

/// The answers that a classic client waits for, in the order of its uploads: some clients tell them apart by nothing else.
struct ClassicAnswers {
    /// Uploads without an answer, the oldest first.
    private var waiting: [ClassicUpload] = []
    /// The place of the first of them among the uploads of the connection.
    private var first = 0
    /// Results of those that others have to be answered before, by their places.
    private var early: [Int: ClassicResult] = [:]

    /// Uploads without an answer.
    var count: Int { waiting.count }

    /// - Returns: the upload's place.
    mutating func began(_ upload: ClassicUpload) -> Int {
        waiting.append(upload)
        return first + waiting.count - 1
    }

    mutating func settled(_ place: Int, _ result: ClassicResult) { early[place] = result }

    /// Those that can be answered now, in order.
    mutating func take() -> [(upload: ClassicUpload, result: ClassicResult)] {
        var ready: [(upload: ClassicUpload, result: ClassicResult)] = []
        while ready.count < waiting.count, let result = early.removeValue(forKey: first + ready.count) {
            ready.append((waiting[ready.count], result))
        }
        waiting.removeFirst(ready.count)
        first += ready.count
        return ready
    }

    /// Those that have no result and will have none.
    mutating func takeRest() -> [ClassicUpload] {
        defer {
            first += waiting.count
            waiting = []
        }
        return waiting
    }
}
