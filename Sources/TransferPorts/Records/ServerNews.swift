package import TransferModel

/// What the servers of one store say to each other, so that a client that waits at one of them learns what another one has changed. Only
/// hints: what counts is in the store and the records. Safe to use from any thread.
///
/// Each server has one. It adds its handlers with `listen`, then calls `post` after each change, and `close` at its end.
package protocol ServerNews: AnyObject, Sendable {
    /// Says to the other servers, soon, what this one has changed. Does not wait, and joins what is posted at short intervals.
    func post(_ news: NewsBatch)

    /// Adds a handler for the news of other servers. If some may have been missed, it gets `NewsBatch.everything`.
    ///
    /// - Parameter handler: called one news after the other, by any thread; must be short.
    func listen(_ handler: @escaping @Sendable (NewsBatch) -> Void)

    /// Sends what is posted, if it can, and calls no handler any more.
    func close()
}

/// Changes of a server that clients of other servers may wait for. Bounded: what is too much becomes "some are missing".
package struct NewsBatch: Equatable, Sendable {
    /// Most uploads in a batch, as many as a server keeps for its listeners.
    package static let mostUploads = 1024

    /// Most people in a batch.
    package static let mostPeople = 1024

    /// Uploads that have stored a file that others may see, in their order.
    package private(set) var uploads: [UploadID]

    /// Whether more uploads may have stored files.
    package private(set) var missesUploads = false

    /// People whose mailboxes, or whose sent mail, have changed.
    package private(set) var people: Set<PathKey>

    /// Whether anything may have changed for other people.
    package private(set) var missesPeople = false

    /// Whether the access lists were edited.
    package var changesAccess: Bool

    package init(uploads: [UploadID] = [], people: some Sequence<String> = [], changesAccess: Bool = false) {
        (self.uploads, self.people, self.changesAccess) = (uploads, Set(people.lazy.map { PathKey($0) }), changesAccess)
        bound()
    }

    /// Stands for news that were missed: anything may have changed.
    package static let everything = {
        var news = NewsBatch(changesAccess: true)
        (news.missesUploads, news.missesPeople) = (true, true)
        return news
    }()

    /// Lets people look for mail that they may have missed.
    package static let reminder = {
        var news = NewsBatch()
        news.missesPeople = true
        return news
    }()

    package var isEmpty: Bool { self == NewsBatch() }

    package mutating func missUploads() { (uploads, missesUploads) = ([], true) }

    package mutating func missPeople() { (people, missesPeople) = ([], true) }

    /// Joins news with those that came later.
    package mutating func add(_ later: NewsBatch) {
        // What came before a gap is of no use: listeners look at everything.
        if later.missesUploads { missUploads() }
        uploads += later.uploads
        if later.missesPeople { missPeople() }
        if !missesPeople { people.formUnion(later.people) }
        changesAccess = changesAccess || later.changesAccess
        bound()
    }

    private mutating func bound() {
        if uploads.count > Self.mostUploads { missUploads() }
        if people.count > Self.mostPeople { missPeople() }
    }
}
