package import TransferModel

/// The notes of changes that were noted together, and which of them stay.
package struct NotedChanges: Sendable {
    /// Numbers of the notes; nil where nothing was noted.
    package let numbers: ClosedRange<Int64>?

    /// The last row of uploads that was there: all that was known by then is about what was there before.
    package let newest: Int64

    /// Numbers of the notes that are not deleted when the catalog is told what came of the changes.
    package private(set) var kept: Set<Int64> = []

    package init(_ numbers: ClosedRange<Int64>?, newest: Int64) {
        (self.numbers, self.newest) = (numbers, newest)
    }

    /// No notes.
    package static let none = NotedChanges(nil, newest: .min)

    /// The same notes, of which none is deleted.
    package var keepingAll: NotedChanges { keeping(numbers.map { Set($0) } ?? []) }

    /// The same notes, of which some are not deleted.
    package func keeping(_ numbers: Set<Int64>) -> NotedChanges {
        var noted = self
        noted.kept = numbers
        return noted
    }

    /// The number that the change at a position has.
    ///
    /// - Parameter index: position among the changes that were noted together.
    /// - Returns: nil where nothing was noted.
    package func number(at index: Int) -> Int64? {
        guard let numbers, index < numbers.count else { return nil }
        return numbers.lowerBound + Int64(index)
    }
}

/// One change, as it was noted.
package struct NotedChange: Sendable {
    package let notes: NotedChanges

    /// Nil for a note that cannot be read.
    package let change: IntendedChange?

    package init(_ change: IntendedChange?, under number: Int64, newest: Int64) {
        (notes, self.change) = (NotedChanges(number...number, newest: newest), change)
    }
}

/// A file that was acknowledged below a folder after it was noted that the folder is to be moved: it went along, or it came after.
package struct LateUpload: Equatable, Sendable {
    package let path: String
    package let object: UInt64

    package init(_ path: String, object: UInt64) { (self.path, self.object) = (path, object) }

    /// Where it is if it went along; alone, whenever it was acknowledged.
    ///
    /// - Parameter folder: that it was acknowledged in.
    package func moved(with folder: PathMove) -> PathMove {
        PathMove(
            path, to: folder.target + String(decoding: path.utf8.dropFirst(folder.path.utf8.count), as: UTF8.self),
            object: object, at: .min)
    }
}

/// Where it is noted what a server is about to do.
package protocol IntendedChanges {
    /// What was intended and is not known to be done or undone, in the order in which it was noted.
    func intended() throws(RecordsError) -> [NotedChange]

    /// What was acknowledged below the old path of a folder after its move was noted.
    func acknowledged(below move: PathMove, after noted: NotedChanges) throws(RecordsError) -> [LateUpload]

    /// Lets files be known as they are by now, and forgets what was noted of that.
    func complete(_ noted: NotedChanges, _ changes: KnownChanges) throws(RecordsError)
}

extension IntendedChanges {
    /// Looks what has become of all that was intended, and lets it be known. Nobody may intend anything meanwhile.
    ///
    /// - Parameters:
    ///   - keepsNotes: whether a power cut may still bring back what was before, so that it has to be looked at once more.
    ///   - look: says what has a path; throws where that cannot be said.
    /// - Returns: how many changes there were that a server did not come to the end of.
    package func resolveIntended<Failure: Error>(
        keepsNotes: Bool = false, _ look: (RelativePath) throws(Failure) -> FoundObject?
    ) throws(RecordsError) -> Int {
        var resolved = 0
        for noted in try intended() {
            // Where the outcome cannot be told now, the note stays for the next time.
            guard let known = try outcome(of: noted, look) else { continue }
            // A note that cannot be read never will be, and goes in any case.
            try complete(keepsNotes && noted.change != nil ? noted.notes.keepingAll : noted.notes, known)
            if noted.change != nil { resolved += 1 }
        }
        return resolved
    }

    /// What has become of a change that was noted, with the files that went along with a folder.
    ///
    /// - Parameter look: says what has a path; throws where that cannot be said.
    /// - Returns: no changes for a note that cannot be read; nil where the outcome cannot be told now.
    package func outcome<Failure: Error>(
        of noted: NotedChange, _ look: (RelativePath) throws(Failure) -> FoundObject?
    ) throws(RecordsError) -> KnownChanges? {
        guard let change = noted.change, let path = RelativePath(stored: change.path),
            let target = RelativePath(stored: change.target)
        else { return KnownChanges() }
        var known: KnownChanges
        do throws(Failure) {
            known = change.outcome(try look(path), path == target ? nil : try look(target))
        } catch {
            return nil
        }
        guard let along = try whatWentAlong(with: known.folders, noted.notes, look) else { return nil }
        known.moves += along
        return known
    }

    /// Files that were acknowledged between the note of a folder's move and its rename; nobody knows when that was.
    ///
    /// - Returns: nil where that cannot be told now.
    private func whatWentAlong<Failure: Error>(
        with folders: [PathMove], _ noted: NotedChanges, _ look: (RelativePath) throws(Failure) -> FoundObject?
    ) throws(RecordsError) -> [PathMove]? {
        var along: [PathMove] = []
        for folder in folders {
            for upload in try acknowledged(below: folder, after: noted) {
                let move = upload.moved(with: folder)
                do throws(Failure) {
                    let isThere = try upload.stands(at: move.target, look)
                    if isThere, try !upload.stands(at: upload.path, look) { along.append(move) }
                } catch {
                    return nil
                }
            }
        }
        return along
    }
}

extension LateUpload {
    fileprivate func stands<Failure: Error>(
        at path: String, _ look: (RelativePath) throws(Failure) -> FoundObject?
    ) throws(Failure) -> Bool {
        guard let path = RelativePath(stored: path), let found = try look(path) else { return false }
        return found.form == .file && found.version.object == object
    }
}
