package import TransferModel

/// Immutable objects under random keys. Synchronous and safe to call from any thread; each call may wait for the
/// network.
package protocol ObjectStore: Sendable {
    /// Stores an object. When it returns, the engine has acknowledged the object, and its content was verified (see
    /// `EngineTraits`). After an error the object may exist all the same.
    func put(_ key: ObjectKey, _ content: ObjectContent) throws(ObjectError)

    /// Reads a range completely, or throws. `notFound` if the object is not there, `damaged` if the object has fewer
    /// bytes. An empty range is read without asking the engine.
    ///
    /// - Parameter buffer: memory for at least as many bytes as the range has. After an error its content is undefined.
    func get(_ key: ObjectKey, _ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer) throws(ObjectError)

    /// Reads size and metadata of an object, as rebuilding a catalog needs them. `notFound` if the object is not there.
    func head(_ key: ObjectKey) throws(ObjectError) -> ObjectHead

    /// Removes an object. Succeeds also if the object is not there.
    func delete(_ key: ObjectKey) throws(ObjectError)

    /// A page of keys below a prefix, in the order of their bytes.
    ///
    /// - Parameters:
    ///   - prefix: first bytes of the keys; it need not end at a slash.
    ///   - last: the last key of the previous page; nil for the first page.
    ///   - limit: most objects of the page, 1 to 1,000; the page may be shorter.
    func list(_ prefix: String, after last: ObjectKey?, limit: Int) throws(ObjectError) -> ObjectPage
}

/// The name of an object below the store's prefix, such as `data/3f/9a61…`.
package struct ObjectKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Most bytes of a key in S3, including the store's prefix ("Naming Amazon S3 objects").
    package static let longest = 1024

    /// The key's text; its bytes are compared, never its characters.
    package let text: String

    /// Checks a key. An engine may store a key as a path of files, so a key has no empty segment, no `.` and no `..`,
    /// and no control character, which XML could not carry.
    ///
    /// - Returns: nil for any other text.
    package init?(_ text: String) {
        guard (1...Self.longest).contains(text.utf8.count), !text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { return nil }
        let segments = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard segments.allSatisfy({ !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) })
        else { return nil }
        self.text = text
    }

    package static func < (a: Self, b: Self) -> Bool { a.text.utf8.lexicographicallyPrecedes(b.text.utf8) }

    package static func == (a: Self, b: Self) -> Bool { a.text.hasSameBytes(as: b.text) }

    package func hash(into hasher: inout Hasher) { text.hashBytes(into: &hasher) }

    package var description: String { text }
}

/// One object of a listing.
package struct ListedObject: Equatable, Sendable {
    package let key: ObjectKey

    /// Bytes of the object, as the engine's index has them.
    package let size: UInt64

    package init(_ key: ObjectKey, size: UInt64) { (self.key, self.size) = (key, size) }
}

/// A part of a listing, in the order of the keys' bytes.
package struct ObjectPage: Equatable, Sendable {
    package let objects: [ListedObject]

    /// Whether no objects follow. If not, the caller asks again after the last key.
    package let isLast: Bool

    package init(_ objects: [ListedObject], isLast: Bool) { (self.objects, self.isLast) = (objects, isLast) }
}

/// Size and metadata of an object.
package struct ObjectHead: Equatable, Sendable {
    package let size: UInt64
    package let metadata: ObjectMetadata

    package init(size: UInt64, metadata: ObjectMetadata) { (self.size, self.metadata) = (size, metadata) }
}

/// The reason why an object could not be stored, read, removed or listed.
package struct ObjectError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable, CaseIterable {
        /// The engine has too many requests or failed in itself; trying again later may help.
        case busy
        /// The engine could not be reached, or the connection was cut or silent for too long.
        case unreachable
        /// The engine's certificate is not trusted, or TLS cannot be used with it.
        case untrusted
        /// The engine refused the credentials, or no credentials exist.
        case refused
        /// The credentials are valid, but do not permit this, or the bucket is read-only.
        case forbidden
        /// The bucket does not exist.
        case noBucket
        /// The object does not exist.
        case notFound
        /// The bytes that were stored or read are not those that they should be, or the engine's answer makes no sense.
        case damaged
        /// The engine's storage, or the quota of the bucket, is full.
        case full
        /// The clocks of this machine and of the engine differ too much, even after a correction.
        case clockSkew
        /// The address, the region or the request is wrong, so that no repetition helps.
        case misconfigured
    }

    package let reason: Reason

    /// A sentence for the operator: what happened, and what to do about it.
    package let message: String

    /// Time for which the engine asks not to be called again (Retry-After); nil if it does not say.
    package let wait: Interval?

    package init(_ reason: Reason, _ message: String, wait: Interval? = nil) {
        (self.reason, self.message, self.wait) = (reason, message, wait)
    }

    /// Whether the same call can succeed later without any action of the operator.
    package var isTransient: Bool { reason == .busy || reason == .unreachable }
}
