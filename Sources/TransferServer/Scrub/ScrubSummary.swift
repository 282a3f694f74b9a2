/// The result of a scrub.
package struct ScrubSummary: Sendable {
    /// A number of files, and the sum of their bytes.
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

    /// Files that have the acknowledged content.
    package var intact = Count()

    package var findings: [ScrubFinding.Kind: Count] = [:]

    /// Files too new to judge, because a running server may still have to record them.
    package var recent = Count()

    /// Entries that are neither files nor directories that uploads can be in.
    package var others = 0

    /// Parts of uploads that are not complete.
    package var unfinished = Count()

    /// Why there was no catalog to compare with; nil if there was one.
    package var catalogFault: String?

    /// Why rotten files could not be noted in the catalog; nil if they could.
    package var keepingFault: String?

    /// Entries that a repair has added, updated and removed; nil without a repair.
    package var repairs: Repairs?

    package struct Repairs: Equatable, Sendable {
        package var added = 0
        package var updated = 0
        package var removed = 0

        /// Files of a copied directory whose acknowledgements are valid again.
        package var adopted = 0

        /// New path of a catalog that was damaged; nil if it was not.
        package var movedTo: String?
    }

    /// Whether every acknowledgement that the catalog knows of holds.
    package var isWell: Bool {
        (catalogFault == nil || repairs != nil) && findings.allSatisfy { !$0.key.isFailure || $0.value.files == 0 }
    }
}

/// How much of a scrub is done.
package struct ScrubProgress: Sendable {
    /// Number of files that were checked, and of bytes that were read.
    package var files = 0
    package var bytes: UInt64 = 0

    /// Files and bytes according to the catalog.
    package var expected: ScrubSummary.Count?
}
