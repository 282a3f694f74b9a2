package import TransferModel

/// What had a name when somebody compared it, and decided what is done about it.
package struct ComparedFile: Sendable {
    /// What may have become of it since.
    package enum Tolerance: Sendable {
        /// Nothing, but that a file with several names has got or lost some.
        case none
        /// Its names come and go, which changes a file as a change of its content does: its size and its time of modification alone
        /// have to be the same.
        case names
        /// Anything, as long as it is the same object.
        case changes
        /// What is in a folder. Its number alone would not do: a file that takes the name of an empty folder may get the number, too.
        case entries
    }

    /// Nothing where nothing had the name.
    package let version: ContentVersion?

    package let tolerance: Tolerance

    /// Nothing had the name.
    package static let nothing = ComparedFile(nil)

    package init(_ version: ContentVersion?, tolerating tolerance: Tolerance = .none) {
        (self.version, self.tolerance) = (version, tolerance)
    }

    /// - Parameters:
    ///   - now: what has the name; nil where nothing has, and nothing can be lost.
    ///   - hasOtherNames: whether it has.
    /// - Throws: `sourceChanged` when it is something else by now.
    package func check(
        _ now: ContentVersion?, isFolder: Bool, hasOtherNames: Bool, _ path: RelativePath
    ) throws(Failure) {
        guard let now else { return }
        guard let version, now == version || isTolerated(now, version, isFolder, hasOtherNames) else {
            throw .changed(path)
        }
    }

    private func isTolerated(
        _ now: ContentVersion, _ version: ContentVersion, _ isFolder: Bool, _ hasOtherNames: Bool
    ) -> Bool {
        switch tolerance {
        case .none: hasOtherNames && now.hasSameContent(as: version)
        case .names: now.hasSameContent(as: version)
        case .changes: now.object == version.object
        case .entries: now.object == version.object && isFolder
        }
    }
}

extension Failure {
    package static func changed(_ path: RelativePath) -> Failure {
        Failure(
            .sourceChanged, "\(path) has changed since it was compared; it is left, and the next sync looks again.")
    }
}
