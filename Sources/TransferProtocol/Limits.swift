/// Every length and count that a peer can state has its maximum here, checked before anything is allocated for it.
package enum Limits {
    /// Bytes in one block, the unit of the tree digest: 4 MiB, large enough that its digest (16 bytes) costs nothing,
    /// small enough that resending one bad block is cheap on a slow link.
    package static let blockSize = 4 << 20

    /// Bytes of a `data` body, both on the wire and after inflating: 1 MiB. Larger frames measured no faster, and this
    /// bounds what one frame can make the receiver hold.
    package static let dataBody = 1 << 20

    /// Bytes of any other body: 16 KiB holds the longest path, a digest, a message and room for growth.
    package static let controlBody = 16 << 10

    /// Bytes of a path: Linux's PATH_MAX (linux/limits.h) without the terminating NUL.
    package static let path = 4095

    /// Bytes of one path component: NAME_MAX (linux/limits.h).
    package static let pathComponent = 255

    /// Components of a path. Deeper trees exist only by mistake or malice.
    package static let pathDepth = 128

    /// Bytes of a human sentence or an agent's name.
    package static let text = 1024

    /// Uploads that one signature covers at most: many times what one connection can have unacknowledged. Bounds the
    /// inclusion path to 16 hashes.
    package static let receiptBatch = 65_536

    /// Bytes of the sender's name in a receipt: the longest address of a socket (unix(7)) and room for names.
    package static let sender = 255

    /// Largest upload, in bytes: what a signed 64-bit file offset (off_t) can address.
    package static let uploadSize = UInt64(Int64.max)

    /// Uploads that a client may have begun and not yet seen a result for. A client needs no more to fill a link: 4,096
    /// files of 4 KiB are 16 MiB in flight.
    package static let unacknowledgedUploads = 4096

    /// Uploads that one `lookup` asks about, and that one `unknown` names: 4 KiB of ids. More would share the header among
    /// more and wait longer for the last of them.
    package static let lookup = 256

    /// Requests that may have no answer: enough files of 4 KiB to fill a link.
    package static let requests = 1024

    /// Bytes of these requests together, as `Request.cost` counts them: with the most of them each may have a path of 96
    /// bytes. Bounds what a server holds of the requests of one connection.
    package static let requestBytes = 128 << 10
}
