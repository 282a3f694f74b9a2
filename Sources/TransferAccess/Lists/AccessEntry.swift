/// One entry of an access list, which admits a client.
package protocol AccessEntry: Equatable, Sendable {
    associatedtype ID: Hashable & Sendable

    /// For each kind of entry, the number of fields that follow it.
    static var kinds: [String: Int] { get }

    /// ID by which the list finds the entry.
    var id: ID { get }

    var options: AccessOptions { get }

    /// The client's name, for users, logs and receipts.
    var name: String { get }

    /// Kind and fields as written in a line.
    var fields: [String] { get }

    /// - Throws: a phrase about the invalid field.
    init(_ line: AccessLine) throws(AccessFault)
}

extension AccessEntry {
    /// The whole line without its end.
    package var line: String {
        let options = options.description
        return ((options.isEmpty ? [] : [options]) + fields + [name]).joined(separator: " ")
    }
}
