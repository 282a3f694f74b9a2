/// A store with all that a server asks of one, held by one server at a time.
package protocol ServerStore: ContentStore, TreeChanging, StoreSpace {
    /// Which store it is, for clients that recognise it; nil where that cannot be said.
    var identity: [UInt8]? { get }

    /// Whether no server has stored in it before.
    var isNew: Bool { get }

    /// Lets another server have it. Nothing may be staged, published or changed any more.
    func unlock()
}
