/// Who may come in: what one line of a list says.
package protocol AccessEntry: Equatable, Sendable {
    associatedtype ID: Hashable & Sendable

    /// The kinds of entries, each with the number of fields that follow it.
    static var kinds: [String: Int] { get }

    /// What it is found by.
    var id: ID { get }

    var options: AccessOptions { get }

    /// For people, and for logs and receipts.
    var name: String { get }

    /// Its kind and its fields, as they stand in a line.
    var fields: [String] { get }

    /// - Throws: a phrase that says what is wrong with the fields.
    init(_ line: AccessLine) throws(AccessFault)
}

extension AccessEntry {
    /// The whole line, without its end.
    package var line: String {
        let options = options.description
        return ((options.isEmpty ? [] : [options]) + fields + [name]).joined(separator: " ")
    }
}
