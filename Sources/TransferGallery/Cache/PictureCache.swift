import Glibc
import Synchronization
package import TransferDatabase
import TransferModel
import TransferPictures
import TransferSystem

/// Remembers what decoders have found out about pictures, and their thumbnails. Nothing in it is needed: it can be removed at any time,
/// and is made anew if it is damaged. Safe to call from any thread.
package final class PictureCache: Sendable {
    package static let fileName = "thumbs.sqlite"

    /// Changed when decoders learn something: what an earlier version refused is then tried again.
    static let maker: Int64 = 2

    /// Days after which thumbnails are removed that no client has seen, such as those of removed pictures.
    static let lifetime: Int64 = 30

    /// Thumbnails that are removed together when the cache is full.
    private static let removedAtOnce: Int64 = 64

    /// Reports that are added between two looks at the size of the file.
    private static let addedBetweenLooks = 1024

    private let file: DatabaseFile
    /// Most bytes of all thumbnails.
    private let mostBytes: Int64
    private let hasRoom: @Sendable () -> Bool
    private let clock: @Sendable () -> Int64
    private let connection: Locked<CacheConnection?>
    private let added = Atomic(0)
    /// The day on which old thumbnails were removed, in days since 1970.
    private let lastForgotten = Atomic<Int64>(0)

    /// - Parameters:
    ///   - path: of the database's file.
    ///   - mostBytes: most bytes of all thumbnails.
    ///   - makes: whether the file is made if it is missing.
    ///   - hasRoom: whether the disk has room for thumbnails; otherwise nothing is added.
    ///   - clock: seconds since 1970.
    /// - Returns: nil if the file cannot be made or used; or if it is missing and not made.
    package init?(
        path: String, mostBytes: Int64, makes: Bool = true, hasRoom: @escaping @Sendable () -> Bool = { true },
        calls: DatabaseCalls = DatabaseCalls(),
        clock: @escaping @Sendable () -> Int64 = { utcNanoseconds() / 1_000_000_000 }
    ) {
        file = DatabaseFile(path: path, called: CacheSchema.name, isDurable: false, calls: calls)
        (self.mostBytes, self.hasRoom, self.clock) = (mostBytes, hasRoom, clock)
        guard makes || file.number != nil, let opened = Self.open(file) else { return nil }
        connection = Locked(opened)
    }

    private static func open(_ file: DatabaseFile) -> CacheConnection? {
        do throws(RecordsError) {
            return try CacheConnection(file)
        } catch {
            // Other failures may pass, and the thumbnails are worth keeping.
            guard error.condemns || error.reason == .unknownVersion else { return nil }
            file.remove()
            return try? CacheConnection(file)
        }
    }

    /// Runs `body`, and makes the cache anew if it proves to be damaged. Other failures only mean that nothing is remembered.
    private func use<T>(_ body: (CacheConnection) throws(RecordsError) -> T?) -> T? {
        connection.withLock { connection in
            guard let current = connection else { return nil }
            do throws(RecordsError) {
                return try body(current)
            } catch {
                guard error.condemns else { return nil }
                connection = nil
                file.remove()
                connection = try? CacheConnection(file)
                return nil
            }
        }
    }

    /// Days since 1970, in which the use of rows is counted.
    private var today: Int64 { clock() / 86_400 }

    /// A thumbnail, or that its decoder has failed today; nil if it has to be made.
    ///
    /// - Parameter side: nil for what is said about the picture, in which a decoder can fail, too.
    package func thumbnail(_ key: PictureKey, _ side: ThumbnailSide?) -> PictureReport? {
        use { (connection) throws(RecordsError) in try connection.thumbnail(key, side, today: today) }
    }

    /// What is known about a picture, without its thumbnail; nil if it has to be found out.
    package func report(_ key: PictureKey) -> PictureReport? {
        use { (connection) throws(RecordsError) in try connection.report(key) }
    }

    /// What is known about several pictures; nil for each that is unknown.
    package func summaries(_ keys: [PictureKey]) -> [PictureSummary?] {
        let found = use { (connection) throws(RecordsError) in
            var found: [PictureSummary?] = []
            for key in keys { found.append(try connection.report(key)?.summary) }
            return found
        }
        return found ?? keys.map { _ in nil }
    }

    /// - Parameter side: of the thumbnail; nil if none was wanted.
    package func add(_ report: PictureReport, _ key: PictureKey, _ side: ThumbnailSide?) {
        guard hasRoom() else { return }
        let today = today
        _ = use { (connection) throws(RecordsError) -> Void? in
            if lastForgotten.exchange(today, ordering: .relaxed) != today {
                try connection.forget(before: today - Self.lifetime)
            }
            try connection.add(report, key, side, today: today)
            while try connection.bytes() > mostBytes, try connection.removeOldest(Self.removedAtOnce) > 0 {}
            guard added.add(1, ordering: .relaxed).newValue % Self.addedBetweenLooks == 0 else { return nil }
            if try connection.sizeOnDisk() > mostBytes + mostBytes / 4 { try connection.removeUnseen() }
            return nil
        }
    }

    /// Bytes that the files of all thumbnails have together.
    package var bytes: Int64 { use { (connection) throws(RecordsError) in try connection.bytes() } ?? 0 }
}

extension DatabaseFile {
    fileprivate func remove() {
        for suffix in Self.suffixes { unlink(path + suffix) }
    }
}
