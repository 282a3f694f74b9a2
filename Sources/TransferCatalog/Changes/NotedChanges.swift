import TransferDatabase

/// The notes of changes that were noted together, and which of them stay.
package struct NotedChanges: Sendable {
    /// Numbers of the notes; nil where nothing was noted.
    package let numbers: ClosedRange<Int64>?

    /// The last row of uploads that was there: all that was known by then is about what was there before.
    package let newest: Int64

    /// Numbers of the notes that are not deleted when the catalog is told what came of the changes.
    package private(set) var kept: Set<Int64> = []

    package init(_ numbers: ClosedRange<Int64>?, newest: Int64) {
        (self.numbers, self.newest) = (numbers, newest)
    }

    /// No notes.
    package static let none = NotedChanges(nil, newest: .min)

    /// The same notes, of which none is deleted.
    package var keepingAll: NotedChanges { keeping(numbers.map { Set($0) } ?? []) }

    /// The same notes, of which some are not deleted.
    package func keeping(_ numbers: Set<Int64>) -> NotedChanges {
        var noted = self
        noted.kept = numbers
        return noted
    }

    /// The number that the change at a position has.
    ///
    /// - Parameter index: position among the changes that were noted together.
    /// - Returns: nil where nothing was noted.
    package func number(at index: Int) -> Int64? {
        guard let numbers, index < numbers.count else { return nil }
        return numbers.lowerBound + Int64(index)
    }
}

/// One change, as it was noted.
package struct NotedChange: Sendable {
    package let notes: NotedChanges

    /// Nil for a note that cannot be read.
    package let change: IntendedChange?

    package init(_ change: IntendedChange?, under number: Int64, newest: Int64) {
        (notes, self.change) = (NotedChanges(number...number, newest: newest), change)
    }
}

extension NotedChange {
    static let select = "SELECT number, \(IntendedChange.names), newest FROM intended ORDER BY number"

    /// - Parameter select: of these.
    static func all(_ select: Statement) throws(DatabaseError) -> [NotedChange] {
        defer { select.reset() }
        var found: [NotedChange] = []
        while try select.next() {
            found.append(
                NotedChange(
                    IntendedChange(select), under: select.integer(0), newest: select.optionalInteger(10) ?? .min))
        }
        return found
    }
}
