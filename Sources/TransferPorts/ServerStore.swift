/// Everything that a server needs from a store. Only one server at a time uses a store.
package protocol ServerStore: ContentStore, TreeChanging, StoreSpace {
    /// Identifies the store, for clients that recognise it; nil if that is unknown.
    var identity: [UInt8]? { get }

    /// Whether no server has stored anything in it before.
    var isNew: Bool { get }

    /// Releases the store for another server. Afterwards nothing may be staged, published or changed.
    func unlock()
}
