/// What a side can do, or wants, beyond the basics.
package struct Features: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// In `hello`: the client wants a receipt for every acknowledgement, and takes `receipts` frames.
    package static let receipts = Features(rawValue: 1)

    /// In `welcome`: the server answers `list`, `fetch` and `remove`.
    package static let files = Features(rawValue: 2)
}
