/// Every length and count that a peer can state has its maximum here, checked before anything is allocated for it.
package enum Limits {
    /// Bytes in one block, the unit of the tree digest: 4 MiB, large enough that its digest (16 bytes) costs nothing,
    /// small enough that resending one bad block is cheap on a slow link.
    package static let blockSize = standardBlockSize

    #if TRANSFER_SMALL_BLOCKS
        /// In simulations: so that uploads of several blocks cost as little as others.
        private static let standardBlockSize = 4 << 10
    #else
        private static let standardBlockSize = 4 << 20
    #endif

    /// Bytes in the smallest piece of a block that travels by itself: 64 KiB, a second over the slowest line that pieces are for (Reno
    /// over 300 ms with 1 % of loss carries some 60 KB/s, RFC 3649, section 3).
    package static let pieceSize = blockSize / 64

    /// Bytes of a path: Linux's PATH_MAX (linux/limits.h) without the terminating NUL.
    package static let path = 4095

    /// Bytes of one path component: NAME_MAX (linux/limits.h).
    package static let pathComponent = 255

    /// Components of a path. Deeper trees exist only by mistake or malice.
    package static let pathDepth = 128

    /// Uploads that one signature covers at most: many times what one connection can have unacknowledged. Bounds the
    /// inclusion path to 16 hashes.
    package static let receiptBatch = 65_536

    /// Bytes of the sender's name in a receipt: the longest address of a socket (unix(7)) and room for names.
    package static let sender = 255

    /// Largest upload, in bytes: what a signed 64-bit file offset (off_t) can address.
    package static let uploadSize = UInt64(Int64.max)
}

/// The port of a server.
package enum ServerPort {
    /// Where nobody names one: a server listens on it, and addresses and links mean it.
    package static let usual: UInt16 = 5288
}
