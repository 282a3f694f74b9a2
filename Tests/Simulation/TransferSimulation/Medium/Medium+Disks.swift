import Glibc

/// A second disk that is mounted on a folder. No file has names on both disks, and a sync of one whole disk leaves the
/// other disk as it is.
extension Medium {
    /// Folder on which the second disk is mounted.
    static let mount = "v"

    /// Difference between the device numbers of the two disks.
    private static let difference: dev_t = 1 << 30

    /// Mounts a new disk durably, so that the mount survives each power cut.
    mutating func mountSecond(in directory: String) {
        mkdir(directory + "/" + Self.mount, 0o755)
        let object = newObject()
        adopt(object, directory + "/" + Self.mount)
        directories[object] = Directory(path: Self.mount)
        directories[root]?.seen[Self.mount] = object
        directories[root]?.certain[Self.mount] = object
        away.insert(object)
    }

    /// Puts an object on the disk of the directory that has a name for the object.
    mutating func settle(_ object: Object?, onDiskOf directory: Object) {
        if let object, away.contains(directory) { away.insert(object) }
    }

    func isOnSameDisk(_ object: Object, as other: Object) -> Bool { away.contains(object) == away.contains(other) }

    /// Sets the device number in a status to that of the disk that contains an object.
    func amend(_ status: inout stat, of object: Object) {
        if away.contains(object) { status.st_dev ^= Self.difference }
    }

    /// Error of the kernel for a call that names both disks, or that renames or removes the mount point: EXDEV or
    /// EBUSY. nil if the kernel makes the call.
    func refusal(of call: SimulatedDisk.NamingCall) -> Int32? {
        guard !away.isEmpty else { return nil }
        switch call {
        case .link(let file, let directory):
            return isOnSameDisk(file, as: directory) ? nil : EXDEV
        case .rename(let source, let name, let target, let newName):
            if isMount(source, name) || isMount(target, newName) { return EBUSY }
            return isOnSameDisk(source, as: target) ? nil : EXDEV
        case .removal(let directory, let name): return isMount(directory, name) ? EBUSY : nil
        }
    }

    private func isMount(_ directory: Object, _ name: String) -> Bool {
        !away.isEmpty && directory == root && name == Self.mount
    }
}

extension SimulatedDisk {
    /// A call that changes names, with the objects that its descriptors refer to.
    enum NamingCall {
        case link(Medium.Object, in: Medium.Object)
        case rename(from: Medium.Object, String, to: Medium.Object, String)
        case removal(from: Medium.Object, String)
    }
}
