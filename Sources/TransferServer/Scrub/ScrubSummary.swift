/// What a scrub came to.
package struct ScrubSummary: Sendable {
    /// Files, and their bytes.
    package struct Count: Equatable, Sendable {
        package var files = 0
        package var bytes: UInt64 = 0

        package init(files: Int = 0, bytes: UInt64 = 0) {
            self.files = files
            self.bytes = bytes
        }

        mutating func add(_ size: UInt64) {
            files += 1
            bytes &+= size
        }
    }

    /// Files that are as they were acknowledged.
    package var intact = Count()

    package var findings: [ScrubFinding.Kind: Count] = [:]

    /// Files that a running server may just be storing, too new for anything to be said of them.
    package var recent = Count()

    /// What is neither a file nor a directory that uploads can be in.
    package var others = 0

    /// Parts of uploads that are not complete.
    package var unfinished = Count()

    /// Why there was no catalog to compare with; nothing when there was one.
    package var catalogFault: String?

    /// Why what is rotten could not be kept in the catalog; nothing when it could.
    package var keepingFault: String?

    /// Entries that a repair has added, brought up to date, and removed.
    package var repairs: Repairs?

    package struct Repairs: Equatable, Sendable {
        package var added = 0
        package var updated = 0
        package var removed = 0

        /// Files of a copied directory for which what was acknowledged holds again.
        package var adopted = 0

        /// Where the catalog is that was of no more use.
        package var movedTo: String?
    }

    /// Whether every acknowledgement that the catalog knows of holds.
    package var isWell: Bool {
        (catalogFault == nil || repairs != nil) && findings.allSatisfy { !$0.key.isFailure || $0.value.files == 0 }
    }
}

/// How far a scrub is.
package struct ScrubProgress: Sendable {
    /// Files that were looked at, and bytes that were read.
    package var files = 0
    package var bytes: UInt64 = 0

    /// What the catalog lets expect.
    package var expected: ScrubSummary.Count?
}
