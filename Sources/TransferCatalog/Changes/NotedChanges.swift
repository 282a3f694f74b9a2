import TransferDatabase

/// Changes that were noted together.
package struct NotedChanges: Sendable {
    /// What each of them is kept under; nothing where none is.
    package let numbers: ClosedRange<Int64>?

    /// The last row of uploads that was there: all that was known by then is about what was there before.
    package let newest: Int64

    package init(_ numbers: ClosedRange<Int64>?, newest: Int64) {
        (self.numbers, self.newest) = (numbers, newest)
    }

    /// Of none.
    package static let none = NotedChanges(nil, newest: .min)

    /// The same, of which nothing is to be forgotten.
    package var kept: NotedChanges { NotedChanges(nil, newest: newest) }
}

/// One change, as it was noted.
package struct NotedChange: Sendable {
    package let notes: NotedChanges

    /// Nothing for a note that cannot be read.
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
