import TransferModel
import TransferPorts

/// Records what is published and not acknowledged so far. Other changes of this server may have reached the files meanwhile: their
/// entries are recorded as these have left them.
struct PublishedRecording {
    let known: KnownUploads
    let store: any ContentStore

    /// - Parameters:
    ///   - receipts: that entries have the numbers of.
    ///   - moment: `RecentChanges.moment` before they were published.
    func record(_ entries: [CatalogEntry], with receipts: SignedBatch?, since moment: Int) {
        let isRecorded = known.record(entries, with: receipts)
        var changes = keeps(of: entries)
        guard known.recentChanges.moment != moment || !changes.isEmpty else { return }
        for entry in entries { add(changesOf: entry, since: moment, to: &changes) }
        guard !changes.isEmpty else { return }
        known.complete(.none, changes)
        // The catalog has no rows that it could have changed.
        if !isRecorded { known.recent.add(entries.compactMap { $0.restamped(by: changes) }) }
    }

    /// Entries whose files have given way to others since they were published.
    private func keeps(of entries: [CatalogEntry]) -> KnownChanges {
        let files = entries.compactMap { entry in entry.version.map { (path: entry.path, version: $0) } }
        let places = known.recentKeeps.places(of: files.map { ($0.path, $0.version.object) })
        var changes = KnownChanges()
        for (file, place) in zip(files, places) {
            guard let place, let batch = TrashBatch(of: place), let now = store.version(at: place),
                now.object == file.version.object, !hasPath(file.version, file.path)
            else { continue }
            let version = KeptFile.Versions(before: file.version, after: now)
            changes.add(KnownChanges(KeptFile(place: place, in: batch, version: version), version, of: file.path))
        }
        return changes
    }

    /// Whether a file has its path still, or again: by another name of it that was moved there.
    private func hasPath(_ file: ContentVersion, _ path: String) -> Bool {
        RelativePath(stored: path).flatMap(store.version)?.object == file.object
    }

    private func add(changesOf entry: CatalogEntry, since moment: Int, to changes: inout KnownChanges) {
        guard let published = entry.version, let path = RelativePath(stored: entry.path),
            let course = known.recentChanges.course(of: path, since: moment)
        else { return }
        let found = store.version(at: path)
        let (place, now) =
            found?.object == published.object ? (path, found) : (course.place, store.version(at: course.place))
        guard let now, now.object == published.object else {
            changes.replaced.append(.init(entry.path, by: found?.object, at: entry.committed))
            return
        }
        let isKnown = now.hasContent(of: published, orSetTo: course.revisions)
        for link in course.links {
            guard isKnown, let other = store.version(at: link), other.object == now.object else { continue }
            changes.links.append(
                PathLink(entry.path, as: link.string, before: published, after: other, at: entry.committed))
        }
        if place != path {
            changes.moves.append(PathMove(entry.path, to: place.string, object: published.object, at: .min))
        }
        if isKnown, now != published {
            changes.versions.append(VersionChange(path: place.string, before: published, after: now))
        }
    }
}
